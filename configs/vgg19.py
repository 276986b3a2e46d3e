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

from configs import mnist_cnn

VARIANTS = mnist_cnn.VARIANTS


def get_config(variant=""):
    """`mnist_cnn`'s, of another network."""
    config = mnist_cnn.get_config(variant)
    config.model.update(
        input_size=32 if variant else 224,
        width={"": 64, "quick": 16, "test": 2}[variant],
        kernel_size=3,
        blocks=((1, 1), (2, 2), (4,) * 4, (8,) * 4, (8,) * 4),
        dense=(64, 64),
    )
    config.train.learning_rate = 1e-4
    return config
