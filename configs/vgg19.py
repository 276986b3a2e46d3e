"""VGG19 (Simonyan and Zisserman 2015), all 19 layers, on digits: a network whose first dense layer
holds most of its bytes.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/vgg19.py --devices 0,1,2,3

`--rendered` in place of `--source` makes digits in several fonts where MNIST is not at hand; every
result then says so. Digits are enlarged to `model.input_size`, in one channel: 139.6 million
parameters at 224 pixels, of which 102.8 million are the first dense layer's kernel (at 32 pixels
38.9 and 2.1). There is no batch normalization, and nothing is trained beforehand.

Variants:
  quick  32 pixels, a fourth of the width, bfloat16 products, 1,500 updates: 99.88 % of the
         rendered test digits after 5 minutes on 2 cores of an AMD EPYC beside other work (one
         seed).
  test   20 updates of a network of 32 pixels and a 32nd of the width: whether everything runs.
"""

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "quick", "test"


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="classification",
        data="data/mnist.h5",
        model={
            "input_size": 224,
            "width": 64,
            "kernel_size": 3,
            "blocks": (
                (1, 1),
                (2, 2),
                (4,) * 4,
                (8,) * 4,
                (8,) * 4,
            ),  # convolutions' channels by block, over width
            "dense": (64, 64),  # hidden layers' sizes over width
            "dropout": 0.5,
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=8_600,
            optimizer="rmsprop",
            learning_rate=1e-4,
            decay="exponential",
            decay_rate=0.95,  # in every decay_updates: an epoch
            decay_updates=430,
            evaluate_every_updates=430,
            checkpoint_every_updates=430,
        ),
        evaluate=Evaluate(batch_size=250),
    )
    if variant:
        config.model.input_size = 32
    if variant == "quick":
        config.model.width = 16
        config.model.compute_dtype = "bfloat16"
        config.train.num_updates = 1500
        config.train.evaluate_every_updates = 500
        config.train.checkpoint_every_seconds = 60
    if variant == "test":
        config.model.width = 2
        few_updates(config, examples=100)
    return config
