"""Age arithmetic (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5
    python main.py --config configs/ages.py --devices 0,1,2,3

The paper: up to 10 million updates; no published figures could be found. These settings have not
been run to their end here.

Variants; accuracy in percent at distances from 0 on, one seed:
  cpu    Our own recipe, in stages with 3, 5, then 8 people:
         100.0 100.0 100.0 100.0 99.9 100.0 99.9 99.2 of the test questions, after 185 minutes of 2
         cores of an AMD EPYC without AVX-512, partly beside other work, --devices cpu:2.
  gpu    The same stages with 1,024 questions in an update, in 13,000 updates:
         100.0 100.0 100.0 100.0 100.0 100.0 100.0 99.8 of the test questions, after 3.9 minutes of
         one NVIDIA H200, beside two other trainings, --devices 0. `pretrained/ages.h5`.
  quick  Shorter stages, with 4 steps at most: 100 100 99.4 63.1 14.5 of the validation questions,
         after 20 minutes of 2 cores.
  test   20 updates of 16 questions, to see in less than a minute whether everything runs.
"""

from typing import Any

from ml_collections import ConfigDict

from configs import Evaluate, Train, experiment, look_up, shorten


def paper() -> ConfigDict:
    return experiment(
        task="ages",
        data="data/ages.h5",
        model={
            "hidden_size": 128,
            "num_steps": 8,
            "readout_dropout": 0.5,
            "node_loss": 0.0,  # weight of the loss of all people's ages, in training
            "sinusoids": False,  # initially in the weights of years and ages
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=10_000_000,
            optimizer="adam",
            learning_rate=1e-4,
            evaluate_every_updates=10_000,
            validation_examples=20_000,
            checkpoint_every_updates=10_000,
        ),
        evaluate=Evaluate(batch_size=1024),
    )


def stage(people: int, steps: int, **train: Any) -> dict[str, Any]:
    return {
        "name": f"people_{people}",
        "options": {"num_people": people, "num_steps": steps},
        **train,
    }


def cpu() -> ConfigDict:
    """With 8 people the rate falls to zero twice."""
    config = paper()
    config.model.readout_dropout = 0.0
    config.model.node_loss = 1.0
    config.model.sinusoids = True
    config.train.batch_size = 256
    config.train.num_updates = 0
    config.train.stages = (
        stage(3, 3, num_updates=3_000),
        stage(5, 5, num_updates=4_500, learning_rate=2e-3),
        stage(8, 8, num_updates=5_500, learning_rate=1e-3, decay="cosine"),
        stage(8, 8, name="people_8_on", num_updates=6_000, learning_rate=7e-4, decay="cosine"),
    )
    config.train.optimizer = "muon"
    # one-hots in, classes out
    config.train.muon_exclude = "^input_fn/linear_0|^readout/linear_3|^node_readout/linear_2"
    config.train.learning_rate = 3e-3
    config.train.warmup_updates = 200
    config.train.clip_norm = 1.0
    config.train.evaluate_every_updates = 6_500
    config.train.checkpoint_every_seconds = 60
    config.evaluate.by_stage = False
    config.evaluate.examples = 200_000  # of 1.7 million
    return config


def gpu() -> ConfigDict:
    """As cpu, with four times its questions in an update."""
    config = cpu()
    config.train.batch_size = 1_024
    config.train.stages = (
        stage(3, 3, num_updates=2_000),
        stage(5, 5, num_updates=3_000, learning_rate=2e-3),
        stage(8, 8, num_updates=4_000, learning_rate=1.5e-3, decay="cosine"),
        stage(8, 8, name="people_8_on", num_updates=4_000, learning_rate=1e-3, decay="cosine"),
    )
    config.evaluate.batch_size = 8_192
    return config


def quick() -> ConfigDict:
    config = cpu()
    config.model.num_steps = 4
    config.train.stages = (
        stage(3, 3, num_updates=3_000),
        stage(5, 4, num_updates=1_500, learning_rate=2e-3),
        stage(8, 4, num_updates=1_000, learning_rate=1e-3, decay="cosine"),
    )
    config.evaluate.examples = 20_000
    return config


def test() -> ConfigDict:
    config = paper()
    shorten(config, examples=256)
    return config


RECIPES = {"": paper, "cpu": cpu, "gpu": gpu, "quick": quick, "test": test}
get_config = look_up(RECIPES)
