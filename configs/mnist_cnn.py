"""TensorFlow's tutorial network for MNIST: two convolutions, two dense layers, dropout.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/mnist_cnn.py

`--rendered` in place of `--source` makes digits in several fonts where MNIST is not at hand; every
result then says so. 3,274,634 parameters. RMSProp, a rate that falls by 5 % an epoch.

Variants:
  quick  bfloat16 products, 1,500 updates: 99.97 % of the rendered test digits after 100
         seconds on 2 cores of an AMD EPYC beside other work (one seed).
  test   20 updates of a network of a sixteenth of the width: whether everything runs.
"""

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "quick", "test"


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="classification",
        data="data/mnist.h5",
        model={
            "input_size": 28,
            "width": 32,
            "kernel_size": 5,
            "blocks": ((1,), (2,)),  # convolutions' channels by block, over width
            "dense": (32,),  # hidden layers' sizes over width
            "dropout": 0.5,
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
    if variant == "quick":
        config.model.compute_dtype = "bfloat16"
        config.train.num_updates = 1500
        config.train.evaluate_every_updates = 500
        config.train.checkpoint_every_seconds = 60
    if variant == "test":
        config.model.width = 2
        few_updates(config, examples=100)
    return config
