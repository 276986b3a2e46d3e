"""Importing this module imports TensorFlow, but not Keras: programs start in less time.

TensorFlow would also import Keras 3, and that takes a quarter of the time, although `tf.keras`
waits until it is used. With this variable it looks for Keras 2, which is seldom installed. Without
it again, `tf.keras` is Keras 3 as always.
"""

import os

KERAS_2 = "TF_USE_LEGACY_KERAS"

if KERAS_2 in os.environ:  # whoever has set it wants it so
    import tensorflow
else:
    os.environ[KERAS_2] = "1"
    try:
        import tensorflow  # noqa: F401
    finally:
        del os.environ[KERAS_2]
