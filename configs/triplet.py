"""A triplet network on digits: query, match and other image through the same variables.

    python -m data_prep mnist --rendered --out data/mnist.h5
    python main.py --config configs/triplet.py:VARIANT

`--source mnist.npz` instead of `--rendered` takes MNIST's images. Each device has triplets of its
own; they share the variables, and an update averages their gradients.

    VARIANT  nearest image shows the same digit     time, hardware (three seeds)
             99.90 ± 0.04 % of rendered digits      1 minute, one core, AMD EPYC
    test     20 updates of a narrower network       less than a minute
"""

from rrn.config import Cosine, Data, Evaluate, Experiment, Train, replace
from rrn.config_file import look_up, shorten
from rrn.tasks import triplet


def digits() -> Experiment:
    return Experiment(
        model=triplet.Model(),
        data=Data(path="data/mnist.h5"),
        train=Train(
            batch_size=128,
            num_updates=2_000,
            learning_rate=1e-3,
            schedule=Cosine(warmup_updates=100),
            evaluate_every_updates=500,
            validation_examples=2_000,
            checkpoint_every_updates=500,
        ),
        evaluate=Evaluate(batch_size=250),
    )


def test() -> Experiment:
    config = replace(digits(), model={"width": 2}, train={"schedule": Cosine()})
    return shorten(config, examples=100)


RECIPES = {"": digits, "test": test}
get_config = look_up(RECIPES)
