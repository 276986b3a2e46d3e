"""VGG19 (Simonyan and Zisserman 2015), all 19 layers, on digits: a network whose first dense layer
holds most of its bytes.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python main.py --config configs/vgg19.py --devices 0,1,2,3

`--rendered` in place of `--source` makes digits in several fonts where MNIST is not at hand; every
result then says so. Digits are enlarged to `model.input_size`, in one channel: 139.6 million
parameters at 224 pixels, of which 102.8 million are the first dense layer's kernel (at 32 pixels
38.9 and 2.1). There is no batch normalization, and nothing is trained beforehand. The full size has
not been run to its end here.

Variants:
  quick  32 pixels, a fourth of the width, bfloat16 products, 1,500 updates: 99.88 % of the rendered
         test digits, after 5 minutes on 2 cores of an AMD EPYC beside other work (one seed).
  test   20 updates of a network of 32 pixels and a 32nd of the width, to see whether everything
         runs.
"""

from configs import look_up, mnist_cnn
from rrn.config import Experiment, replace


def full() -> Experiment:
    return vgg19(mnist_cnn.tutorial(), input_size=224, width=64)


def quick() -> Experiment:
    return vgg19(mnist_cnn.quick(), input_size=32, width=16)


def test() -> Experiment:
    return vgg19(mnist_cnn.test(), input_size=32, width=2)


def vgg19(config: Experiment, input_size: int, width: int) -> Experiment:
    """Puts VGG19 in the place of a recipe's network.

    Args:
      config: the recipe.
      input_size: the images' height and width, in pixels.
      width: the channels of the first block; the sizes of all layers are multiples of it.

    Returns:
      The recipe for VGG19.
    """
    return replace(
        config,
        model={
            "input_size": input_size,
            "width": width,
            "kernel_size": 3,
            "blocks": ((1, 1), (2, 2), (4,) * 4, (8,) * 4, (8,) * 4),
            "dense": (64, 64),
        },
        train={"learning_rate": 1e-4},
    )


RECIPES = {"": full, "quick": quick, "test": test}
get_config = look_up(RECIPES)
