"""Towers: where every matrix product runs, and that N devices do what one does."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.distribute.towers import tower_gradients
from rrn.distribute.variables import (
    format_hidden,
    format_variables,
    list_variables,
    short_device,
)
from rrn.nn.layers import Linear
from rrn.training.step import Trainer
from rrn.variables.recorder import Record, recording, tower_scope
from tests.helpers import CPUS, LineTask, line_batches, line_config, make_trainer, small_babi

PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "_FusedMatMul", "Einsum"}


def all_operations(concrete_function):
    """(operation's type, its device) of a traced function and of all functions that it calls."""
    graph = concrete_function.graph.as_graph_def()
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes += function.node_def
    return [(node.op, node.device) for node in nodes]


def products_by_device(concrete_function):
    """Device -> number of matrix products; "" for those that are not placed."""
    counts = {}
    for kind, device in all_operations(concrete_function):
        if kind in PRODUCTS:
            place = short_device(device) if device else ""
            counts[place] = counts.get(place, 0) + 1
    return counts


def count_products(function, spec):
    counts = products_by_device(tf.function(function).get_concrete_function(spec))
    return sum(counts.values())


@pytest.fixture(scope="module")
def three_towers(small_babi_h5):
    """(task, its trainer on three devices, a batch's spec, the towers' records)."""
    tf.random.set_seed(0)
    babi = small_babi(small_babi_h5, num_parts=1)
    with recording() as records:
        trainer, inputs = make_trainer(*babi, CPUS[1:])
    return babi[2], trainer, inputs[0].element_spec, records


def test_every_product_of_towers_beside_the_encoder_is_on_its_device(three_towers):
    """Each part is traced by itself, so that nothing depends on how operations are named."""
    task, trainer, spec, _ = three_towers

    def encode_backward(batch):
        with tf.GradientTape() as tape:
            encodings = tf.nest.flatten(task.encode(batch))
        return tape.gradient(encodings, task.encoder.trainable_variables)

    def encodings_of(batch):  # leaves of the right shapes, made without products
        return {
            name: tf.zeros([tf.size(batch[name]["ends"]), task.config.encoding_size])
            for name in ("facts", "questions")
        }

    def loss(batch):
        return task.loss(encodings_of(batch), batch, None, False)[0]["loss"]

    def loss_backward(batch):
        encodings = encodings_of(batch)
        with tf.GradientTape() as tape:
            tape.watch(encodings)
            value = task.loss(encodings, batch, None, False)[0]["loss"]
        return tape.gradient(value, (task.network.trainable_variables, encodings))

    encoder, network = (count_products(f, spec) for f in (encode_backward, loss_backward))
    assert encoder > count_products(task.encode, spec) > 0
    assert network > count_products(loss, spec) > 0
    # On CPU:0 are the encoder's products for all towers, forward and backward, and no others.
    expected = {"CPU:0": 3 * encoder, "CPU:1": network, "CPU:2": network, "CPU:3": network}
    assert products_by_device(trainer.traced) == expected


def test_every_towers_hidden_states_are_listed_with_their_device(three_towers):
    rows = [line.split() for line in format_hidden(three_towers[-1]).splitlines()[1:]]
    steps = [f"step_{step + 1}/{n}" for step in range(2) for n in ("message_sums", "hidden")]
    for number in range(3):
        own = [row for row in rows if row[1] == str(number)]
        assert {row[-1] for row in own} == {f"CPU:{number + 1}"}
        assert [row[2] for row in own] == steps and own[1][3].endswith("x16")


def test_what_a_stage_does_not_train_has_no_backward_pass():
    """Each product has one in the backward pass for its kernel.

    The encoder has one product, and so has the network, with one more for the encodings.
    """
    stages = [{"name": n, "modules": (n,)} for n in ("network", "encoder")] + [{"name": "all"}]
    task = LineTask()
    batches = line_batches(task, [[0, 1]])
    trainer = Trainer(task, line_config(stages=stages), CPUS[1:3], [batches.element_spec] * 2)
    counts = {}
    for stage in trainer.plan.stages:
        trainer.update.assign(stage.first)
        trainer.begin_stage()
        counts[stage.name] = products_by_device(trainer.traced)
    assert counts == {
        "network": {"CPU:0": 2 * 1, "CPU:1": 2, "CPU:2": 2},
        "encoder": {"CPU:0": 2 * 2, "CPU:1": 2, "CPU:2": 2},
        "all": {"CPU:0": 2 * 2, "CPU:1": 3, "CPU:2": 3},
    }


# N devices and one device


def _five_updates(babi, devices, initial, **how):
    """The first update's metrics and gradients, all updates' examples, the variables after five."""
    for variable, value in initial.items():
        variable.deref().assign(value)
    trainer, inputs = make_trainer(*babi, devices, **how)
    result = {"rows": [], "examples": []}
    for update, batches in zip(range(5), zip(*inputs, strict=True), strict=False):
        metrics, finite = trainer.update_once(batches)
        assert finite
        if update == 0:
            result["metrics"] = {n: (a.numpy(), b.numpy()) for n, (a, b) in metrics.items()}
            # Adam's m is now a tenth of the gradient.
            optimizer = trainer.optimizers[0]
            result["gradients"] = [10.0 * m.numpy() for m in optimizer.m]
        result["rows"].append([batch["rows"].numpy() for batch in batches])
        result["examples"].append([batch["examples"].numpy() for batch in batches])
    result["variables"] = [variable.numpy() for variable in trainer.model_variables]
    result["averages"] = [average.numpy() for average in trainer.averages.averages]
    return result


@pytest.fixture(scope="module")
def clipped_babi(small_babi_h5):
    """Every part of an update is in use: clipping, L2, dropout, averaged weights."""
    tf.random.set_seed(0)
    config, data, task = small_babi(small_babi_h5, num_steps=1)
    config = replace(config, train={"clip_norm": 0.1, "l2": 0.001, "ema_decay": 0.9})
    initial = {
        variable.ref(): variable.numpy()
        for module in (task.encoder, task.network)
        for variable in module.trainable_variables
    }
    assert config.model.readout_dropout == 0.5
    return (config, data, task), initial


@pytest.fixture(scope="module")
def one_device(clipped_babi):
    return _five_updates(clipped_babi[0], CPUS[:1], clipped_babi[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "count, how",
    [
        (3, {}),  # of 16 examples 5, 5 and 6
        (2, {"compiled": True}),
    ],
)
def test_several_devices_equal_one(clipped_babi, one_device, count, how):
    several = _five_updates(clipped_babi[0], CPUS[:count], clipped_babi[1], **how)
    assert several["metrics"].keys() == one_device["metrics"].keys() >= {"loss", "gradient_norm"}
    for name, pair in one_device["metrics"].items():
        for ours, theirs in zip(several["metrics"][name], pair, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5, err_msg=name)
    for part in ("gradients", "variables", "averages"):
        for ours, theirs in zip(several[part], one_device[part], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    # No two devices have the same places, and together they have the one-device batch.
    for update in range(5):
        rows, examples = several["rows"][update], several["examples"][update]
        assert sorted(np.concatenate(rows)) == list(range(16))
        assert max(map(len, rows)) - min(map(len, rows)) <= 1
        (all_rows,), (all_examples,) = one_device["rows"][update], one_device["examples"][update]
        drawn = dict(zip(all_rows, all_examples, strict=True))
        for r, e in zip(rows, examples, strict=True):
            assert [drawn[row] for row in r] == e.tolist()


# Variables and who reads them


def _listing(babi, devices):
    with recording() as towers:
        trainer, _ = make_trainer(*babi, devices)
    trained = {"train": trainer.plan.stages[0].trained()}
    return list_variables(trainer.model_variables, towers, trained), trainer


def _reads_in_graph(trainer):
    """Variable's name -> number of operations of the traced update that read it."""
    graph = trainer.traced.graph
    variables = {id(v.handle): v.name.removesuffix(":0") for v in trainer.model_variables}
    names = {
        inner.op.name: variables[id(outer)]
        for outer, inner in graph.captures
        if id(outer) in variables
    }
    counts = dict.fromkeys(variables.values(), 0)
    for operation in graph.get_operations():
        if operation.type in ("ReadVariableOp", "ResourceGather") and (
            name := names.get(operation.inputs[0].op.name)
        ):
            counts[name] += 1
    return counts


@pytest.mark.slow
def test_every_tower_reads_each_variable_once_whatever_the_steps(small_babi_h5):
    lists = []
    for num_steps, devices in ((1, 1), (3, 2)):
        babi = small_babi(small_babi_h5, num_steps=num_steps, num_parts=1)
        rows, trainer = _listing(babi, CPUS[:devices])
        names = [row["name"] for row in rows]
        assert names == sorted({v.name.removesuffix(":0") for v in trainer.model_variables})
        assert len(names) == len(trainer.model_variables)
        # The graph holds the towers' reads, and one more for each variable in the L2 term.
        l2 = {variable.name.removesuffix(":0") for variable in babi[2].regularized()}
        assert _reads_in_graph(trainer) == {name: devices + (name in l2) for name in names}
        towers = {f"tower {i}": 1 for i in range(devices)}
        assert [row.pop("readers") for row in rows] == [towers] * len(rows)
        lists.append(rows)
    assert lists[0] == lists[1]


def test_the_table_of_variables_has_one_line_each_and_totals():
    with tf.device("CPU:0"):
        variables = [tf.Variable(tf.zeros([2, 3]), name="b"), tf.Variable(tf.zeros([4]), name="a")]
    reads = {variables[0].ref(): 1}, {variable.ref(): 2 for variable in variables}
    towers = {f"tower {i}": Record(f"tower_{i}/", "CPU:0", own) for i, own in enumerate(reads)}
    rows = list_variables(variables, towers, {"first": variables[1:], "both": variables})
    assert [list(row.values()) for row in rows] == [
        ["a", [4], "float32", 16, ["first", "both"], "CPU:0", {"tower 1": 2}],
        ["b", [2, 3], "float32", 24, ["both"], "CPU:0", {"tower 0": 1, "tower 1": 2}],
    ]
    assert list(rows[0]) == ["name", "shape", "dtype", "bytes", "stages", "device", "readers"]
    _, a, b, totals = format_variables(rows).splitlines()
    assert a.split() == ["a", "4", "16", "first,", "both", "CPU:0", "tower", "1", "2"]
    assert b.split()[:5] == ["b", "2x3", "24", "both", "CPU:0"]
    assert totals == "2 variables, 10 parameters, 40 bytes"


def test_short_device():
    assert short_device("/job:localhost/replica:0/task:0/device:GPU:1") == "GPU:1"
    assert short_device("/device:CPU:0") == "CPU:0"
    far = short_device("/job:worker/replica:0/task:1/device:GPU:0")
    assert far == "/job:worker/task:1/GPU:0"


# tower_gradients


def test_gradients_pass_through_the_encodings_and_unreached_variables_have_none():
    encoder, network, unused = Linear(3, 2), Linear(2, 1), tf.Variable(1.0)
    variables = [encoder.w, encoder.b, network.w, network.b, unused]
    x = tf.random.normal([5, 3])

    def encode(batch):
        return {"used": encoder(batch), "not used": encoder(batch) ** 2}

    def loss_fn(encodings, batch):
        # An encoder's variable that the loss reads directly gets both parts of its gradient.
        loss = tf.reduce_sum(network(encodings["used"]) ** 2) + tf.reduce_sum(encoder.w**2)
        return [loss, 3.0 * loss], "aux"

    # The second loss has variables of its own, none of them the encoder's.
    result = tower_gradients(CPUS[1], encode, loss_fn, x, [variables, [network.w]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(encoder(x)) ** 2) + tf.reduce_sum(encoder.w**2)
    expected = tape.gradient(loss, variables)
    np.testing.assert_allclose(result.losses, [loss, 3.0 * loss], rtol=1e-6)
    assert result.aux == "aux"
    gradients, (tripled,) = result.gradients
    assert gradients[4] is None and expected[4] is None
    for ours, theirs in zip(gradients[:4], expected[:4], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(tripled, 3.0 * expected[2], rtol=1e-5)
    assert "CPU:1" in gradients[2].device and "CPU:0" in gradients[1].device


@pytest.mark.parametrize("encode", [lambda batch: {}, lambda batch: {"x": 2.0 * batch}])
def test_an_encoder_without_variables_works(encode):
    network = Linear(3, 1)
    x = tf.random.normal([5, 3])

    def loss_fn(encodings, batch):
        return [tf.reduce_sum(network(encodings.get("x", 2.0 * batch)) ** 2)], None

    variables = [network.w, network.b, tf.Variable(0.0)]
    with recording() as towers, tower_scope("tower 0"):
        result = tower_gradients(CPUS[1], encode, loss_fn, x, [variables])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(2.0 * x) ** 2)
    (gradients,) = result.gradients
    for ours, theirs in zip(gradients, tape.gradient(loss, variables), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert towers["tower 0"].reads == {network.w.ref(): 1, network.b.ref(): 1}


def test_what_would_give_no_gradients_or_those_of_a_sum_is_refused():
    v, by_example = tf.Variable([1.0]), tf.ones([8])
    for losses, variables, message in (
        (lambda x: [v * x], [[v]], "a loss must be a scalar.*reduce_mean"),
        (lambda x: [tf.reduce_mean(v * x)], [v], "a list of tf.Variable for each loss"),
        (lambda x: [tf.reduce_mean(v * x)], [[v.value()]], "a list of tf.Variable for each loss"),
    ):
        with pytest.raises(ValueError, match=message):
            args = lambda _: {}, lambda _, x, losses=losses: (losses(x), None), by_example
            tower_gradients("/cpu:0", *args, variables)
