"""rrn's modules as Keras layers: `fit`, `summary`, saving and mixed precision as for any layer.

Keras does not look into a `tf.Module`. In a `keras.Model` a bare module's variables are no weights:
`fit` leaves them as they are, saving leaves them out, and nothing says so. `ModuleLayer` has a
weight for each variable of a module, and the module reads these weights. `GraphModel` is a
`keras.Model` of sparse graphs that Keras exports as it was called.

This is the only module of rrn that imports Keras.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from rrn.nn import cells, convolution, layers, network
from rrn.nn.graphs import SparseGraph
from rrn.variables.reading import checked_reads, reading_scope

# What a saved model may name without `custom_objects`.
MODULES = {
    module.__name__: module
    for module in (
        cells.GRUCell,
        cells.LSTMCell,
        convolution.Conv2D,
        convolution.ConvTranspose2D,
        layers.Embedding,
        layers.Linear,
        layers.MLP,
        network.RecurrentRelationalNetwork,
    )
}


@keras.saving.register_keras_serializable("rrn")
class ModuleLayer(keras.layers.Layer):
    """A module as a layer. The layer is called as the module is, with the same results.

    The weights are the layer's own, with the module's initial values. The layer's dtype policy sets
    the module's `compute_dtype`, as "mixed_bfloat16" does, unless `arguments` has one; weights are
    float32. Every call reads each weight once, however many steps use it.

    A graph is given by its name (`graph=`), since Keras takes nothing but tensors by position.
    Under a strategy of several devices it may be none that is sparse: Keras cuts each tensor.

    Args:
      module: the module's class, such as `rrn.MLP`, or its name. A class of one's own has to read
        its variables with `rrn.variables.reading.read`, as rrn's do, and `keras.saving.load_model`
        needs it in `custom_objects`.
      arguments: what the class is called with, by name. They are saved as JSON.
      **options: name, dtype and trainable, see `keras.layers.Layer`.

    Raises:
      ValueError: there is no such module, it is no class, arguments are no dict, or Keras does not
        run on TensorFlow.
    """

    def __init__(
        self, module: Callable | str, arguments: Mapping[str, Any] | None = None, **options: Any
    ):
        found = _find(module) if isinstance(module, str) else module
        if not isinstance(found, type):
            raise ValueError(
                "ModuleLayer: module must be a class, such as rrn.MLP, or its name, got "
                f"{'an instance of ' if callable(found) else ''}{type(found).__name__}"
            )
        if arguments is not None and not isinstance(arguments, Mapping):
            got = type(arguments).__name__
            raise ValueError(
                f"ModuleLayer: arguments must be a dict of {found.__name__}'s, got a {got}"
            )
        for name, value in (arguments or {}).items():
            if isinstance(value, tf.Module):
                raise ValueError(
                    f"ModuleLayer: arguments are saved as JSON, got a module for {name}, a "
                    f"{type(value).__name__}; a class of your own can make it, and be the layer's"
                )
        # Keras tells the arguments apart by the signature of `call`: it has to be the module's.
        call = functools.partial(self.call)
        signature = inspect.signature(functools.partial(found.__call__, None))
        call.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue] (inspect reads it)
        self.__dict__["call"] = call
        super().__init__(**options)
        if keras.backend.backend() != "tensorflow":
            backend = keras.backend.backend()
            raise ValueError(f"ModuleLayer: Keras must run on tensorflow, got backend {backend!r}")
        self.module_class = found
        self.arguments = {
            name: value.name if isinstance(value, tf.DType) else value
            for name, value in (arguments or {}).items()
        }
        given = dict(self.arguments)
        if "compute_dtype" in inspect.signature(found).parameters:
            given.setdefault("compute_dtype", self.compute_dtype)
        with tf.init_scope():
            made = found(**given)
        weights = [self._add_weight_of(variable) for variable in made.variables]
        for i, weight in enumerate(weights):
            setattr(self, f"weight_{i}", weight)  # where tf.train.Checkpoint looks
        # In a function, since Keras and TensorFlow would find the module's own variables elsewhere.
        self._run = functools.partial(_run, made, weights)
        self.built = True  # weights need no input's shape
        if (strategy := tf.distribute.get_strategy()).num_replicas_in_sync > 1:
            _name_what_is_cut(strategy)

    def _add_weight_of(self, variable):
        return self.add_weight(
            shape=tuple(variable.shape),
            initializer=lambda shape, dtype: tf.identity(variable),
            dtype=variable.dtype.name,
            trainable=variable.trainable,
            autocast=False,  # modules cast what they read
            name=variable.name.removesuffix(":0").replace("/", "_"),
        )

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module as its `__call__` is called.

        Raises:
          ValueError: the module reads a variable by another way than `rrn.variables.reading.read`,
            or a graph is sparse, and there are several devices.
        """
        if any(isinstance(value, SparseGraph) for value in tf.nest.flatten([args, kwargs])):
            _check_one_device(f"ModuleLayer of {self.module_class.__name__}")
        return self._run(*args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        made_of = {"module": self.module_class.__name__, "arguments": dict(self.arguments)}
        return {**super().get_config(), **made_of}


class GraphModel(keras.Model):
    """A `keras.Model` whose inputs hold sparse graphs, each as a dict of its tensors.

    Keras would export all inputs as floats `[batch, ...]`. Here `export` without a signature takes
    them as the model was called: integers, numbers without an axis, and tensors whose first axis,
    of nodes, edges or graphs, has any length. A SavedModel has their names: "graph_senders" is
    `inputs["graph"]["senders"]`.

    Args:
      **options: name, dtype and trainable, see `keras.Model`.

    Raises:
      ValueError: the model is made for several devices, which Keras gives parts of each tensor;
        or, of `export`, it was never called.
    """

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.__dict__["_taken"] = None  # as it is: Keras would track its parts
        _check_one_device(type(self).__name__)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the model as `keras.Model` does."""
        if self._taken is None:
            named = keras.tree.flatten_with_path(inputs)
            specs = [_any_length(value, "_".join(map(str, path))) for path, value in named]
            self.__dict__["_taken"] = keras.tree.pack_sequence_as(inputs, specs)
        return super().__call__(inputs, *args, **kwargs)

    def export(
        self, filepath: Any, *args: Any, input_signature: Any = None, **options: Any
    ) -> None:
        if input_signature is None and self._taken is None:
            raise ValueError(
                f"{type(self).__name__}: export has to know the inputs: call the model before, or "
                "give input_signature=[batches.element_spec[0]]"
            )
        super().export(filepath, *args, input_signature=input_signature or [self._taken], **options)


def _check_one_device(name, strategy=None):
    """Refuses sparse graphs under a strategy of several devices; None is the current one."""
    strategy = strategy or tf.distribute.get_strategy()
    if (devices := strategy.num_replicas_in_sync) > 1:
        raise ValueError(
            f"{name}: expected one device, got {type(strategy).__name__} with {devices}, which "
            "cuts tensors anywhere; train sparse graphs on several by "
            "rrn.distribute.tower_gradients, and padded ones (rrn.FullyConnectedGraph) by a "
            "keras.Model"
        )


def _name_what_is_cut(strategy):
    """Has a strategy refuse data sets of sparse graphs by name.

    Keras gives it the data before it calls a layer. Of a number without an axis, such as
    `num_nodes`, TensorFlow then says "list index out of range".
    """
    distribute = strategy.experimental_distribute_dataset
    if hasattr(distribute, "__wrapped__"):
        return

    @functools.wraps(distribute)
    def checked(dataset, *args, **kwargs):
        for path, spec in keras.tree.flatten_with_path(dataset.element_spec):
            if isinstance(spec, SparseGraph.Spec) or spec.shape.rank == 0:
                _check_one_device(f"fit: {'/'.join(map(str, path))}", strategy)
        return distribute(dataset, *args, **kwargs)

    strategy.experimental_distribute_dataset = checked


def _any_length(value, name):
    """The type of a tensor, and of those with another length of the first axis."""
    shape = tuple(value.shape)
    return tf.TensorSpec((None, *shape[1:]) if shape else (), value.dtype, name)


def _find(name):
    """The class of a module's name."""
    found = keras.saving.get_registered_object(name, module_objects=MODULES)
    if found is None:
        known = ", ".join(MODULES)
        raise ValueError(
            f"ModuleLayer: module must be one of {known}, or in custom_objects, got {name!r}"
        )
    return found


def _run(module, weights, *args, **kwargs):
    """Calls a module that reads weights in place of its variables."""
    pairs = zip(module.variables, weights, strict=True)
    given = {variable.ref(): tf.convert_to_tensor(weight) for variable, weight in pairs}
    with reading_scope(given), checked_reads(f"ModuleLayer: {type(module).__name__}"):
        return module(*args, **kwargs)
