"""Modules as Keras layers: the same results, and weights that Keras trains, counts and saves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from rrn import MLP, FullyConnectedGraph, Linear, LSTMCell, RecurrentRelationalNetwork, SparseGraph
from rrn.keras import ModuleLayer
from rrn.variables.reading import read, reading_scope
from tests.compare import assert_close, randomize
from tests.nn.own_parts import Gated, Momentum

SIZES = {"input_size": 3, "hidden_size": 6, "num_hidden_layers": 1}


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def copy_weights(layer, module):
    randomize(module)
    layer.set_weights([variable.numpy() for variable in module.variables])


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_layer_gives_what_its_module_gives(dtype):
    layer = ModuleLayer(RecurrentRelationalNetwork, SIZES, dtype=dtype)
    network = RecurrentRelationalNetwork(**SIZES, compute_dtype=layer.compute_dtype)
    copy_weights(layer, network)
    graph, features = SparseGraph([0, 1, 2], [1, 2, 0], 3), normal(3, 3)
    with tf.GradientTape(persistent=True) as tape:
        states = layer(graph=graph, features=features, num_steps=2)
        with reading_scope():  # sums of bfloat16 gradients round as they are ordered
            expected = network(graph, tf.cast(features, layer.compute_dtype), 2)
        losses = [tf.reduce_sum(x[-1] ** 2) for x in (states, expected)]
    np.testing.assert_array_equal(states, expected)
    weights = [weight.value for weight in layer.trainable_weights]
    gradients = tape.gradient(losses[0], weights), tape.gradient(losses[1], network.variables)
    for actual, right in zip(*gradients, strict=True):
        assert_close(actual, right)
    assert {weight.dtype for weight in layer.weights} == {"float32"}


def test_weights_begin_with_the_modules_values_under_its_names():
    tf.random.set_seed(1)
    layer = ModuleLayer(MLP, {"sizes": [3, 4, 2]}, name="readout")
    tf.random.set_seed(1)
    module = MLP([3, 4, 2])
    names = ["mlp_linear_0_b", "mlp_linear_0_w", "mlp_linear_1_b", "mlp_linear_1_w"]
    assert [weight.path for weight in layer.weights] == [f"readout/{name}" for name in names]
    for weight, variable in zip(layer.weights, module.variables, strict=True):
        np.testing.assert_array_equal(weight, variable)
    assert layer.count_params() == 3 * 4 + 4 + 4 * 2 + 2


@pytest.mark.slow
def test_a_functional_model_is_trained_saved_and_loaded(tmp_path, capsys):
    inputs = keras.Input([3])
    hidden = ModuleLayer(MLP, {"sizes": [3, 16, 4]}, name="pre")(inputs)
    frozen = ModuleLayer("Linear", {"input_size": 4, "output_size": 4}, trainable=False)
    readout = ModuleLayer(Linear, {"input_size": 4, "output_size": 1, "name": "out"})
    model = keras.Model(inputs, readout(frozen(hidden)))
    model.summary()
    assert "Trainable params: 137" in capsys.readouterr().out
    assert model.count_params() == (3 * 16 + 16 + 16 * 4 + 4) + 20 + 5
    x = normal(64, 3)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    before = frozen.get_weights()
    losses = model.fit(x, x.sum(axis=1), epochs=5, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    np.testing.assert_array_equal(before[0], frozen.get_weights()[0])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    assert loaded.get_config() == model.get_config()
    checkpoint = tf.train.Checkpoint(layer=readout).write(str(tmp_path / "checkpoint"))
    shapes = [shape for name, shape in tf.train.list_variables(checkpoint) if shape]
    assert sorted(shapes) == [[1], [4, 1]]  # the weights, and not the module's own variables


def test_a_bare_module_in_a_model_is_not_seen():
    class Bare(keras.Model):
        def __init__(self):
            super().__init__()
            self.linear = Linear(3, 1)

        def call(self, x):
            return self.linear(x)

    model = Bare()
    assert model(normal(2, 3)).shape == (2, 1)
    assert model.weights == []


class Scale(tf.Module):
    """y = x scale, with a variable that is read in one way or the other."""

    def __init__(self, directly=False):
        super().__init__()
        self.directly = directly
        self.scale = tf.Variable(2.0, name="scale")

    def __call__(self, x):
        return x * (self.scale if self.directly else read(self.scale))


def test_a_module_of_ones_own_is_known_by_custom_objects():
    layer = ModuleLayer(Scale, {"directly": False})
    assert float(layer(tf.constant(3.0))) == 6
    config = layer.get_config()
    with pytest.raises((TypeError, ValueError), match=r"module must be .*MLP.*, got 'Scale'"):
        ModuleLayer.from_config(config)
    with keras.saving.custom_object_scope({"Scale": Scale}):
        assert float(ModuleLayer.from_config(config)(tf.constant(3.0))) == 6


def test_a_module_that_reads_its_variables_otherwise_is_refused():
    layer = ModuleLayer(Scale, {"directly": True})
    with pytest.raises(
        ValueError, match=r"Scale must read .* rrn.variables.reading.read.*: scale:0"
    ):
        layer(tf.constant(3.0))


def test_a_compute_dtype_of_the_arguments_comes_before_the_policys():
    arguments = {"input_size": 3, "hidden_size": 2, "compute_dtype": tf.bfloat16}
    layer = ModuleLayer(LSTMCell, arguments)
    assert layer.get_config()["arguments"]["compute_dtype"] == "bfloat16"
    h, _ = layer(normal(4, 3))
    copy = ModuleLayer.from_config(layer.get_config())
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(normal(4, 3))[0], h)


@pytest.mark.parametrize(
    "module, arguments, message",
    [
        (lambda: MLP([3, 2]), None, "must be a class, .* got a MLP"),
        (lambda: OwnNetwork, lambda: {"size": MLP([3, 2])}, "got a module for size, a MLP"),
    ],
)
def test_a_layer_of_a_wrong_module_or_arguments_is_named(module, arguments, message):
    with pytest.raises(ValueError, match=rf"ModuleLayer: .*{message}"):
        ModuleLayer(module(), arguments and arguments())


class OwnNetwork(tf.Module):
    """What `ModuleLayer` can make again: a class that makes the parts and the network."""

    def __init__(self, size, compute_dtype=tf.float32):
        super().__init__()
        parts = Gated(size, size, dtype=compute_dtype), Momentum(size, size, compute_dtype)
        self.rrn = RecurrentRelationalNetwork(
            3, size, message_fn=parts[0], node_update=parts[1], compute_dtype=compute_dtype
        )

    def __call__(self, graph, features):
        return self.rrn(graph, features, 2)[-1]


def ring(nodes):
    numbers = np.arange(nodes)
    return SparseGraph(numbers, np.roll(numbers, 1), nodes)


def test_a_layer_has_parts_of_ones_own_by_a_class_that_makes_them():
    layer, features = ModuleLayer(OwnNetwork, {"size": 6}), normal(3, 3)
    with tf.GradientTape() as tape:
        states = layer(graph=ring(3), features=features)
        loss = tf.reduce_sum(states**2)
    weights = [weight.value for weight in layer.trainable_weights]
    assert len(weights) == len(OwnNetwork(6).variables)
    assert all(np.any(gradient) for gradient in tape.gradient(loss, weights)[-4:])
    with keras.saving.custom_object_scope({"OwnNetwork": OwnNetwork}):
        copy = ModuleLayer.from_config(layer.get_config())
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(graph=ring(3), features=features), states)
    gru = ModuleLayer(RecurrentRelationalNetwork, {**SIZES, "node_update": "gru"})
    assert gru(graph=ring(3), features=features, num_steps=1)[0].shape == (3, 6)


class Padded(keras.Model):
    """The sum of each graph's states; or every state, of a sparse graph."""

    def __init__(self):
        super().__init__()
        self.network = ModuleLayer(RecurrentRelationalNetwork, SIZES)
        self.built = True

    def call(self, inputs):
        features = tf.reshape(inputs["features"], [-1, 3])
        if "graph" in inputs:
            graph = SparseGraph(**inputs["graph"])
            return self.network(graph=graph, features=features, num_steps=1)[-1]
        graph = FullyConnectedGraph(inputs["mask"])
        return graph.sum_nodes(self.network(graph=graph, features=features, num_steps=1)[-1])


def test_several_devices_are_refused_for_sparse_graphs_and_train_padded_ones():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = Padded()
        model.compile("sgd", "mse")
    before = model.get_weights()
    mask = np.float32(np.arange(5) < np.array([[3], [5]] * 4))
    model.fit({"mask": mask, "features": normal(8, 5, 3)}, normal(8, 6), batch_size=4, verbose=0)
    assert any((old != new).any() for old, new in zip(before, model.get_weights(), strict=True))
    tensors = tf.experimental.extension_type.as_dict(ring(4))
    with pytest.raises(ValueError, match="RecurrentRelationalNetwork: expected one device for spa"):
        strategy.run(model, [{"graph": tensors, "features": normal(4, 3)}])


def test_keras_does_not_compile_layers_that_take_graphs():
    layers = ModuleLayer(RecurrentRelationalNetwork, SIZES), ModuleLayer(MLP, {"sizes": [3, 2]})
    assert [layer.supports_jit for layer in layers] == [False, True]
