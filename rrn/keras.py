"""rrn's modules as Keras layers: `fit`, `summary`, saving and mixed precision as for any layer.

In a `keras.Model` a bare `tf.Module`'s variables are no weights: `fit` leaves them as they are,
saving leaves them out, and nothing says so. `ModuleLayer` has a weight for each variable of a
module, and the module reads these weights.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from rrn.nn.cells import GRUCell, LSTMCell
from rrn.nn.convolution import Conv2D, ConvTranspose2D
from rrn.nn.graphs import SparseGraph
from rrn.nn.layers import MLP, Embedding, Linear
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.variables.reading import checked_reads, reading_scope

# What a saved model may name without `custom_objects`.
LAYERS = Conv2D, ConvTranspose2D, Embedding, GRUCell, Linear, LSTMCell, MLP
MODULES = {module.__name__: module for module in (*LAYERS, RecurrentRelationalNetwork)}


@keras.saving.register_keras_serializable("rrn")
class ModuleLayer(keras.layers.Layer):
    """A module as a layer, with the module's results.

    The weights are the layer's own, with the module's initial values. The layer's dtype policy sets
    the module's `compute_dtype`, as "mixed_bfloat16" does, unless `arguments` has one; weights are
    float32. Every call reads each weight once, however many steps use it.

    Keras does not compile a model with a layer that takes graphs by XLA: sparse batches differ in
    size, and each size would be compiled anew. Where all graphs have one size, set the layer's
    `supports_jit` to True.

    Args:
      module: the module's class, such as `rrn.MLP`, or its name. Another class has to read its
        variables with `rrn.variables.reading.read`, as rrn's do, and `keras.saving.load_model`
        needs it in `custom_objects`.
      arguments: what the class is called with, by name. They are saved as JSON.
      **options: name, dtype and trainable, see `keras.layers.Layer`.
    """

    def __init__(
        self, module: Callable | str, arguments: Mapping[str, Any] | None = None, **options: Any
    ):
        super().__init__(**options)
        if keras.backend.backend() != "tensorflow":
            backend = keras.backend.backend()
            raise ValueError(f"ModuleLayer: Keras must run on tensorflow, got backend {backend!r}")
        known = module
        if isinstance(module, str):
            known = keras.saving.get_registered_object(module, module_objects=MODULES)
        if not isinstance(known, type):
            got = repr(module) if isinstance(module, str) else f"a {type(module).__name__}"
            raise ValueError(
                "ModuleLayer: module must be a class, such as rrn.MLP, or the name of one of "
                f"{', '.join(MODULES)} or of custom_objects, got {got}"
            )
        self.module_class = module = known
        self.arguments = {
            name: value.name if isinstance(value, tf.DType) else value
            for name, value in (arguments or {}).items()
        }
        for name, value in self.arguments.items():
            if isinstance(value, tf.Module):
                raise ValueError(
                    f"ModuleLayer: arguments are saved as JSON, got a module for {name}, a "
                    f"{type(value).__name__}; a class of your own can make it, and be the layer's"
                )
        self.supports_jit = "graph" not in inspect.signature(module.__call__).parameters
        given = dict(self.arguments)
        if "compute_dtype" in inspect.signature(module).parameters:
            given.setdefault("compute_dtype", self.compute_dtype)
        with tf.init_scope():
            own = module(**given)
        weights = [self._add_weight_of(variable) for variable in own.variables]
        for i, weight in enumerate(weights):
            setattr(self, f"weight_{i}", weight)  # where tf.train.Checkpoint looks
        # In a function, since Keras and TensorFlow would find the module's own variables elsewhere.
        self._run = functools.partial(_run, own, weights)
        self.built = True  # weights need no input's shape

    def _add_weight_of(self, variable):
        return self.add_weight(
            shape=tuple(variable.shape),
            initializer=lambda shape, dtype: tf.identity(variable),
            dtype=variable.dtype.name,
            trainable=variable.trainable,
            autocast=False,  # modules cast what they read
            name=variable.name.removesuffix(":0").replace("/", "_"),
        )

    def call(
        self,
        *inputs: Any,
        graph: Any = None,
        features: Any = None,
        edges: Any = None,
        globals_: Any = None,
        **options: Any,
    ) -> Any:
        """Calls the module: tensors by position; a graph, its values and other options by name."""
        devices = tf.distribute.get_strategy().num_replicas_in_sync
        if isinstance(graph, SparseGraph) and devices > 1:
            raise ValueError(
                f"ModuleLayer of {self.module_class.__name__}: expected one device for sparse "
                f"graphs, got {devices}, to which Keras gives parts of each tensor; train on "
                "several by rrn.distribute.tower_gradients, or with rrn.FullyConnectedGraph"
            )
        named = {"graph": graph, "features": features, "edges": edges, "globals_": globals_}
        named = {name: value for name, value in named.items() if value is not None}
        return self._run(*inputs, **named, **options)

    def get_config(self) -> dict[str, Any]:
        made_of = {"module": self.module_class.__name__, "arguments": dict(self.arguments)}
        return {**super().get_config(), **made_of}


def _run(module, weights, *args, **kwargs):
    """Calls a module that reads weights instead of its variables."""
    pairs = zip(module.variables, weights, strict=True)
    given = {variable.ref(): tf.convert_to_tensor(weight) for variable, weight in pairs}
    with reading_scope(given), checked_reads(f"ModuleLayer: {type(module).__name__}"):
        return module(*args, **kwargs)
