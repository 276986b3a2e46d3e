"""Image completion with two discriminators, in three stages (Iizuka et al. 2017).

    python -m data_prep pretty_clevr --scenes 20000,1000,1000 --images 128 \
        --out data/pretty_clevr_128.h5
    python main.py --config configs/completion.py:VARIANT

First the completion network is trained by its reconstruction loss, then the discriminators, then
both, each by its own loss on the same batch. Numbers of updates, batch and widths are the
publication's; its images are photographs of 256 x 256, these are drawn scenes of 128 x 128.

    VARIANT    within the hole: L1, PSNR (nearest pixel)   time, hardware (quick: 3 seeds)
               the publication's settings                  not run to their end here
    quick      0.0204 ± 0.0015, 19.3 dB (0.0293, 16.8 dB)  6.5 to 8 minutes, 2 cores, AMD EPYC
    digits     0.095, 13.8 dB (0.191, 8.1 dB)              15 minutes, half a core, AMD EPYC
    full_loss  0.109, 13.8 dB; one loss in stage 3         the same
    test       three updates of each stage                 less than a minute

    python -m data_prep pretty_clevr --scenes 10000,500,1000 --images 64 \
        --out data/pretty_clevr_64.h5                                         (quick, test)
    python -m data_prep mnist --rendered --out data/mnist.h5                  (digits, full_loss)
"""

from rrn.config import (
    Constant,
    Cosine,
    Data,
    Evaluate,
    Experiment,
    Objective,
    Stage,
    Train,
    replace,
)
from rrn.config_file import look_up
from rrn.tasks import completion

Stages = tuple[Stage, ...]
GENERATOR, DISCRIMINATOR = ("network.completion",), ("network.discriminator",)


def three_stages(objective: Objective, first: int, second: int, third: int) -> Stages:
    """Makes the plan. Its third stage has two objectives, a loss for each module.

    Args:
      objective: what all objectives share.
      first, second, third: the numbers of updates of the stages.

    Returns:
      The stages.
    """
    judge = replace(objective, loss="discriminator", modules=DISCRIMINATOR)
    fit = replace(objective, loss="reconstruction", modules=GENERATOR)
    generator = replace(objective, loss="generator", modules=GENERATOR)
    return (
        Stage(name="completion", num_updates=first, objectives=(fit,)),
        Stage(name="discriminator", num_updates=second, objectives=(judge,)),
        Stage(name="both", num_updates=third, objectives=(generator, judge)),
    )


def paper() -> Experiment:
    return Experiment(
        model=completion.Model(),
        data=Data(path="data/pretty_clevr_128.h5"),
        train=Train(
            batch_size=96,
            stages=three_stages(Objective(learning_rate=2e-4), 90_000, 10_000, 400_000),
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=96),
    )


def quick() -> Experiment:
    objective = Objective(learning_rate=5e-4, schedule=Constant(warmup_updates=100), clip_norm=1.0)
    first, *others = three_stages(objective, 5_000, 400, 800)
    first = replace(first, learning_rate=2e-3, schedule=Cosine(warmup_updates=100))
    return replace(
        paper(),
        model={
            "width": 16,
            "dilations": (2, 4, 8),
            "patch_size": 32,
            "adversarial_weight": 2e-3,
            "compute_dtype": "auto",
        },
        data={"path": "data/pretty_clevr_64.h5"},
        train={
            "batch_size": 32,
            "stages": (first, *others),
            "evaluate_every_updates": 1_000,
            "checkpoint_every_seconds": 60,
        },
    )


def digits() -> Experiment:
    return replace(
        quick(),
        model={"dilations": (2,), "patch_size": 16},
        data={"path": "data/mnist.h5"},
        train={"batch_size": 64},
    )


def full_loss() -> Experiment:
    config = digits()
    *first, both = config.train.stages
    objective = replace(both.objectives[0], loss="full", modules=GENERATOR + DISCRIMINATOR)
    full = replace(both, name="full", objectives=(objective,))
    return replace(config, train={"stages": (*first, full)})


def test() -> Experiment:
    config = quick()
    stages = [
        replace(stage, num_updates=3, schedule=Constant(warmup_updates=100))
        for stage in config.train.stages
    ]
    stages[0] = replace(stages[0], learning_rate=5e-4)
    return replace(
        config,
        model={"width": 4},
        train={
            "batch_size": 8,
            "stages": stages,
            "log_every_updates": 3,
            "evaluate_every_updates": 9,
            "validation_examples": 32,
            "checkpoint_every_updates": 3,
        },
        evaluate={"examples": 32},
    )


RECIPES = {
    "": paper,
    "quick": quick,
    "digits": digits,
    "full_loss": full_loss,
    "test": test,
}
get_config = look_up(RECIPES)
