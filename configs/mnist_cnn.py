"""TensorFlow's tutorial network for MNIST: two convolutions, two dense layers, dropout.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/mnist_cnn.py:VARIANT

`--rendered` instead of `--source` makes digits in several fonts; every result then says so. The
network has 3,274,634 parameters.

    VARIANT  accuracy on rendered test digits       time, hardware
             the tutorial's settings                not run to their end here
    article  99.83 %, after 250 updates, one seed   seven workers on 2 cores, Intel Xeon
    quick    99.97 ± 0.01 %, three seeds            96 seconds, one core, AMD EPYC
    test     20 updates                             less than a minute

`article` has the settings of the article on parameter servers, see docs/report/server_study.md.
"""

from rrn.config import (
    Data,
    Evaluate,
    Experiment,
    Exponential,
    RMSPropSettings,
    Staircase,
    Train,
    replace,
)
from rrn.config_file import look_up, shorten
from rrn.tasks import classification


def tutorial() -> Experiment:
    return Experiment(
        model=classification.Model(),
        data=Data(path="data/mnist.h5"),
        train=Train(
            batch_size=128,
            num_updates=8_600,
            optimizer=RMSPropSettings(),
            learning_rate=1e-3,
            schedule=Exponential(decay_rate=0.95, decay_updates=430),  # an epoch
            evaluate_every_updates=430,
            checkpoint_every_updates=430,
        ),
        evaluate=Evaluate(batch_size=250),
    )


def article() -> Experiment:
    return replace(
        tutorial(),
        model={"kernel_deviation": 0.1, "initial_bias": 0.1},
        train={
            "batch_size": 7 * 128,
            "num_updates": 1_200,
            "schedule": Staircase(decay_rate=0.5, decay_updates=1_000),
            "evaluate_every_updates": 200,
            "checkpoint_every_updates": 200,
        },
    )


def quick() -> Experiment:
    return replace(
        tutorial(),
        model={"compute_dtype": "auto"},
        train={
            "num_updates": 1_500,
            "evaluate_every_updates": 500,
            "checkpoint_every_seconds": 60,
        },
    )


def test() -> Experiment:
    return shorten(replace(tutorial(), model={"width": 2}), examples=100)


RECIPES = {"": tutorial, "article": article, "quick": quick, "test": test}
get_config = look_up(RECIPES)
