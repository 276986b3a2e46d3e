"""Image completion with two discriminators, in three stages (Iizuka et al. 2017).

    python -m data_prep pretty_clevr --scenes 20000,1000,1000 --images 128 \
        --out data/pretty_clevr_128.h5
    python main.py --config configs/completion.py --devices 0,1,2,3

First the completion network alone is trained by its reconstruction loss, then the discriminators
alone, then both, each by its own loss on the same batch. Numbers of updates, batch and widths are
the publication's; its images are photographs of 256 x 256, ours are drawn scenes of 128 x 128.
These settings have not been run to their end here.

Variants; each result is of the test split, within the hole, after all stages:
  quick   64 x 64, a fourth of the width: L1 0.0206, PSNR 19.37 dB (of filling with the nearest
          pixel 0.0285 and 16.93), after 6.5 and 8 minutes in two runs on 2 cores of an AMD EPYC.
          python -m data_prep pretty_clevr --scenes 10000,500,1000 --images 64 \
              --out data/pretty_clevr_64.h5
  digits  28 x 28, grey, a fourth of the width: L1 0.095, PSNR 13.8 dB (nearest pixel: 0.191 and
          8.1) on rendered digits, one seed.
          python -m data_prep mnist --rendered --out data/mnist.h5
  full_loss  As digits, but in the third stage one loss, "full", trains all variables: L1 0.111 and
          13.9 dB, where digits had 0.096 and 13.8 in a run beside it (docs/guide/stages.md).
  test    Three updates of each stage on the images of quick, to see whether everything runs.
"""

from typing import Any

from ml_collections import ConfigDict

from configs import Evaluate, Train, experiment, look_up


def three_stages(
    completion: int, discriminator: int, both: int, **first: Any
) -> tuple[dict[str, Any], ...]:
    """Makes the plan. Its third stage has two objectives, a loss for each module.

    Args:
      completion, discriminator, both: the numbers of updates of the stages.
      **first: other fields of the first stage.

    Returns:
      The stages.
    """
    generator, judge = ("network.completion",), ("network.discriminator",)
    return (
        {
            "name": "completion",
            "num_updates": completion,
            "loss": "reconstruction",
            "modules": generator,
            **first,
        },
        {
            "name": "discriminator",
            "num_updates": discriminator,
            "loss": "discriminator",
            "modules": judge,
        },
        {
            "name": "both",
            "num_updates": both,
            "objectives": (
                {"loss": "generator", "modules": generator},
                {"loss": "discriminator", "modules": judge},
            ),
        },
    )


def paper() -> ConfigDict:
    return experiment(
        task="completion",
        data="data/pretty_clevr_128.h5",
        model={
            "width": 64,
            "dilations": (2, 4, 8, 16),
            "hole": (0.25, 0.5),  # its sides' smallest and largest share of the image's
            "patch_size": 64,
            "adversarial_weight": 4e-4,
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=96,
            stages=three_stages(90_000, 10_000, 400_000),
            optimizer="adam",
            learning_rate=2e-4,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=96),
    )


def quick() -> ConfigDict:
    config = paper()
    config.data.path = "data/pretty_clevr_64.h5"
    config.model.width = 16
    config.model.dilations = (2, 4, 8)
    config.model.patch_size = 32
    config.model.adversarial_weight = 2e-3
    config.model.compute_dtype = "bfloat16"
    config.train.batch_size = 32
    config.train.stages = three_stages(5_000, 400, 800, learning_rate=2e-3, decay="cosine")
    config.train.learning_rate = 5e-4
    config.train.warmup_updates = 100
    config.train.clip_norm = 1.0
    config.train.evaluate_every_updates = 1_000
    config.train.checkpoint_every_seconds = 60
    return config


def digits() -> ConfigDict:
    config = quick()
    config.data.path = "data/mnist.h5"
    config.model.dilations = (2,)
    config.model.patch_size = 16
    config.train.batch_size = 64
    return config


def full_loss() -> ConfigDict:
    config = digits()
    *first, both = config.train.stages
    modules = tuple(objective["modules"][0] for objective in both["objectives"])
    full = {"name": "full", "num_updates": both["num_updates"], "loss": "full", "modules": modules}
    config.train.stages = (*first, full)
    return config


def test() -> ConfigDict:
    config = quick()
    config.model.width = 4
    config.train.batch_size = 8
    config.train.stages = three_stages(3, 3, 3)
    config.train.log_every_updates = 3
    config.train.evaluate_every_updates = 9
    config.train.validation_examples = 32
    config.train.checkpoint_every_updates = 3
    config.evaluate.examples = 32
    return config


RECIPES = {
    "": paper,
    "quick": quick,
    "digits": digits,
    "full_loss": full_loss,
    "test": test,
}
get_config = look_up(RECIPES)
