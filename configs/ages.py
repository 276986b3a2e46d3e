"""Age arithmetic (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5
    python main.py --config configs/ages.py:VARIANT

The paper trains for up to 10 million updates; no published results could be found.

    VARIANT  accuracy at distances 0 to 7, %                    time, hardware, seeds
             the paper's settings                               not run to their end here
    cpu      100.0 100.0 100.0 100.0 100.0 99.9 99.9 99.3       62 minutes, one core with AMX, 3
    gpu      100.0 100.0 100.0 100.0 100.0 100.0 100.0 99.8     3.9 minutes, one NVIDIA H200, 1
    quick    100.0 100.0 99.4 61.8 33.2 4.0 1.7 1.9, 4 steps    11 minutes, one core, 1
    test     20 updates                                         less than a minute

`cpu` and `gpu` have stages with 3, 5, then 8 people. `pretrained/ages.h5` is of `cpu`.
"""

from typing import Any

from rrn.config import (
    Constant,
    Cosine,
    Data,
    Evaluate,
    Experiment,
    MuonSettings,
    Stage,
    Train,
    replace,
)
from rrn.config_file import look_up, shorten
from rrn.tasks import ages

COSINE = Cosine(warmup_updates=200)


def paper() -> Experiment:
    return Experiment(
        model=ages.Model(),
        data=Data(path="data/ages.h5"),
        train=Train(
            batch_size=128,
            num_updates=10_000_000,
            learning_rate=1e-4,
            evaluate_every_updates=10_000,
            validation_examples=20_000,
            checkpoint_every_updates=10_000,
        ),
        evaluate=Evaluate(batch_size=1024),
    )


def ours() -> Experiment:
    """What our own recipes share."""
    # One-hots in, classes out.
    exclude = "^input_fn/linear_0|^readout/linear_3|^node_readout/linear_2"
    return replace(
        paper(),
        model={"readout_dropout": 0.0, "auxiliary_loss": 1.0, "sinusoids": True},
        train={
            "batch_size": 256,
            "optimizer": MuonSettings(exclude=exclude),
            "learning_rate": 3e-3,
            "schedule": Constant(warmup_updates=200),
            "clip_norm": 1.0,
            "evaluate_every_updates": 6_500,
            "checkpoint_every_seconds": 60,
        },
        evaluate={"by_stage": False, "examples": 200_000},  # of 1.7 million
    )


def of_people(people: int, steps: int, **fields: Any) -> Stage:
    """A stage with questions about `people` people."""
    (stage,) = ours().train.stages
    options = {"num_people": people, "num_steps": steps}
    return replace(stage, **{"name": f"people_{people}", "options": options, **fields})


def cpu() -> Experiment:
    stages = (
        of_people(3, 3, num_updates=1_500),
        of_people(5, 5, num_updates=1_500, learning_rate=2e-3),
        of_people(8, 8, num_updates=1_500, learning_rate=1.5e-3, schedule=COSINE),
    )
    # With 256 questions in an update, seed 1 has 80 % right with 3 people after 4,800 updates.
    train = {"batch_size": 1_024, "stages": stages}
    return replace(ours(), model={"compute_dtype": "auto"}, train=train)


def gpu() -> Experiment:
    """`cpu` for longer; with 8 people the learning rate decays to zero twice."""
    stages = (
        of_people(3, 3, num_updates=2_000),
        of_people(5, 5, num_updates=3_000, learning_rate=2e-3),
        of_people(8, 8, num_updates=4_000, learning_rate=1.5e-3, schedule=COSINE),
        of_people(8, 8, name="people_8_on", num_updates=4_000, learning_rate=1e-3, schedule=COSINE),
    )
    train = {"batch_size": 1_024, "stages": stages}
    return replace(ours(), train=train, evaluate={"batch_size": 8_192})


def quick() -> Experiment:
    stages = (
        of_people(3, 3, num_updates=3_000),
        of_people(5, 4, num_updates=1_500, learning_rate=2e-3),
        of_people(8, 4, num_updates=1_000, learning_rate=1e-3, schedule=COSINE),
    )
    train, evaluate = {"stages": stages}, {"examples": 20_000}
    model = {"num_steps": 4, "compute_dtype": "auto"}
    return replace(ours(), model=model, train=train, evaluate=evaluate)


def test() -> Experiment:
    return shorten(paper(), examples=256)


RECIPES = {"": paper, "cpu": cpu, "gpu": gpu, "quick": quick, "test": test}
get_config = look_up(RECIPES)
