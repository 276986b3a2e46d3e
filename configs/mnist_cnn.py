"""TensorFlow's tutorial network for MNIST: two convolutions, two dense layers, dropout.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/mnist_cnn.py

`--rendered` in place of `--source` makes digits in several fonts where MNIST is not at hand; every
result then says so. The network has 3,274,634 parameters. It is trained with RMSProp, at a rate
that falls by 5 % an epoch. The tutorial's settings have not been run to their end here.

Variants:
  article  As in the article on parameter servers that docs/notes/server_study.md repeats: kernels
         from a truncated normal distribution, biases at 0.1, a rate that is halved every 1,000
         updates, and 128 digits for each of seven workers in an update: 99.83 % of the rendered
         test digits after 250 updates with seven workers on 2 cores of an Intel Xeon beside other
         work (one seed); not run to its end.
  quick  bfloat16 products, 1,500 updates: 99.97 % of the rendered test digits, after 100 seconds on
         2 cores of an AMD EPYC beside other work (one seed).
  test   20 updates of a network of a sixteenth of the width, to see whether everything runs.
"""

from ml_collections import ConfigDict

from configs import Evaluate, Train, experiment, look_up, shorten


def tutorial() -> ConfigDict:
    return experiment(
        task="classification",
        data="data/mnist.h5",
        model={
            "input_size": 28,
            "width": 32,
            "kernel_size": 5,
            "blocks": ((1,), (2,)),  # convolutions' channels by block, over width
            "dense": (32,),  # hidden layers' sizes over width
            "dropout": 0.5,
            "kernel_deviation": 0.0,  # initially, of a truncated normal distribution; 0: uniform
            "initial_bias": 0.0,
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=8_600,
            optimizer="rmsprop",
            learning_rate=1e-3,
            decay="exponential",
            decay_rate=0.95,  # in every decay_updates: an epoch
            decay_updates=430,
            evaluate_every_updates=430,
            checkpoint_every_updates=430,
        ),
        evaluate=Evaluate(batch_size=250),
    )


def article() -> ConfigDict:
    config = tutorial()
    config.model.kernel_deviation = 0.1
    config.model.initial_bias = 0.1
    config.train.batch_size = 7 * 128
    config.train.num_updates = 1_200
    config.train.decay = "staircase"
    config.train.decay_rate = 0.5
    config.train.decay_updates = 1_000
    config.train.evaluate_every_updates = 200
    config.train.checkpoint_every_updates = 200
    return config


def quick() -> ConfigDict:
    config = tutorial()
    config.model.compute_dtype = "bfloat16"
    config.train.num_updates = 1_500
    config.train.evaluate_every_updates = 500
    config.train.checkpoint_every_seconds = 60
    return config


def test() -> ConfigDict:
    config = tutorial()
    config.model.width = 2
    shorten(config, examples=100)
    return config


RECIPES = {"": tutorial, "article": article, "quick": quick, "test": test}
get_config = look_up(RECIPES)
