"""VGG19 (Simonyan and Zisserman 2015) on digits: its first dense layer holds most of its bytes.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/vgg19.py:VARIANT

`--rendered` instead of `--source` makes digits in several fonts; every result then says so. Digits
are enlarged to `model.input_size`, in one channel: 139.6 million parameters at 224 pixels, of which
102.8 million are the first dense layer's kernel (at 32 pixels 38.9 and 2.1). There is no batch
normalization, and nothing is trained beforehand.

    VARIANT  accuracy on rendered test digits            time, hardware
             full size                                   not run to its end here
    quick    99.82 ± 0.08 %, three seeds; 32 pixels, a   5 to 7 minutes, one core, AMD EPYC
             fourth of the width
    test     20 updates of a narrow network              less than a minute
"""

from rrn.config import Data, Evaluate, Experiment, Exponential, RMSPropSettings, Train, replace
from rrn.config_file import look_up, shorten
from rrn.tasks import classification


def full() -> Experiment:
    """With the schedule of `configs/mnist_cnn.py`."""
    return Experiment(
        model=classification.Model(
            input_size=224,
            width=64,
            kernel_size=3,
            blocks=((1, 1), (2, 2), (4,) * 4, (8,) * 4, (8,) * 4),
            dense=(64, 64),
        ),
        data=Data(path="data/mnist.h5"),
        train=Train(
            batch_size=128,
            num_updates=8_600,
            optimizer=RMSPropSettings(),
            learning_rate=1e-4,
            schedule=Exponential(decay_rate=0.95, decay_updates=430),  # an epoch
            evaluate_every_updates=430,
            checkpoint_every_updates=430,
        ),
        evaluate=Evaluate(batch_size=250),
    )


def quick() -> Experiment:
    return replace(
        full(),
        model={"input_size": 32, "width": 16, "compute_dtype": "auto"},
        train={
            "num_updates": 1_500,
            "evaluate_every_updates": 500,
            "checkpoint_every_seconds": 60,
        },
    )


def test() -> Experiment:
    config = replace(full(), model={"input_size": 32, "width": 2})
    return shorten(config, examples=100)


RECIPES = {"": full, "quick": quick, "test": test}
get_config = look_up(RECIPES)
