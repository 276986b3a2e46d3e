"""The towers' own tensors, and the graph that TensorBoard shows."""

import collections

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rrn.distribute.inspection import (
    format_activations,
    graph_with_variables,
    list_activations,
    write_graph,
)
from rrn.distribute.towers import tower_gradients
from rrn.nn.graphs import SparseGraph
from rrn.nn.layers import Linear
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.variables.recorder import Activation, Record, record, record_reads, recording, tower_scope
from tests.helpers import CPUS
from tests.nn.own_parts import Gated, Momentum

STEPS = 3
WORKERS = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]


def test_notes_are_kept_where_somebody_listens():
    a, v = tf.ones([2, 3]), tf.Variable(1.0)
    with tower_scope("tower 0"):
        record("a", a)
    with recording() as outer:
        record("a", a)  # of no tower
        with tower_scope("tower 0"):
            record("before", a)  # another trace comes after this one
        with tf.Graph().as_default(), tower_scope("tower 0"), tf.name_scope("box"):
            record("c", {"y": [a, a], "x": a}, "/device:CPU:7")
            record_reads({v.ref(): 1})
            record_reads({v.ref(): 2})
            with recording() as inner:
                record("of no tower", a)
                with tower_scope("tower 1"):
                    record("b", tf.constant(1))
            record("d", tf.compat.v1.placeholder(tf.int32), "/device:CPU:7")
    (tower,) = outer.values()
    assert outer.keys() == {"tower 0"} and tower.reads == {v.ref(): 3}
    names = [activation.name for activation in tower.activations]
    assert names == ["box/c/x", "box/c/y/0", "box/c/y/1", "box/d"]
    assert tower.activations[0] == ("box/c/x", [2, 3], "float32", a.device)
    assert tower.activations[-1] == ("box/d", None, "int32", "/device:CPU:7")
    assert [a.name for a in inner["tower 1"].activations] == ["b"]


@pytest.fixture(scope="module")
def traced():
    """({tower: its record}, the traced function of both towers, variables)."""
    tf.random.set_seed(0)
    encoder = Linear(2, 4, name="encoder")
    with tf.device(CPUS[1]):
        network = RecurrentRelationalNetwork(4, 8)
    graph = SparseGraph([0, 1, 2], [1, 2, 0], 3)
    variables = [*encoder.trainable_variables, *network.trainable_variables]

    def loss_fn(encodings, batch):
        states = network(graph, encodings["nodes"], STEPS)
        return [tf.reduce_mean(states[-1])], None

    @tf.function(autograph=False)
    def update(batches):
        gradients = []
        for i, (device, batch) in enumerate(zip(WORKERS, batches, strict=True)):
            with tower_scope(f"tower {i}"):
                result = tower_gradients(
                    device, lambda b: {"nodes": encoder(b["x"][0])}, loss_fn, batch, [variables]
                )
            gradients.append(result.gradients[0])
        for variable, *own in zip(variables, *gradients, strict=True):
            with tf.device(variable.device):
                variable.assign_sub(tf.add_n(own))

    batch = {"x": [tf.TensorSpec([3, 2]), tf.TensorSpec([None], tf.int32)]}
    with recording() as towers:
        function = update.get_concrete_function([batch, batch])
    return towers, function, variables


def own_parts():
    return {"message_fn": Gated(8, 8), "node_update": Momentum(8, 8)}


def test_every_tower_has_inputs_encodings_and_states_of_its_own(traced):
    towers, _, _ = traced
    rows = list_activations(towers)
    expected = [("inputs/x/0", [3, 2]), ("inputs/x/1", [None]), ("encodings/nodes", [3, 4])]
    for step in range(1, STEPS + 1):
        expected += [(f"step_{step}/message_sums", [3, 8]), (f"step_{step}/hidden", [3, 8])]
    expected.append(("loss", []))
    for i in range(2):
        own = [row for row in rows if row["tower"] == f"tower {i}"]
        assert [(row["name"], row["shape"]) for row in own] == expected
        assert {row["device"] for row in own} == {f"/job:worker/task:{i}/CPU:0"}
        assert [row["dtype"] for row in own[:3]] == ["float32", "int32", "float32"]


def test_the_table_shows_one_step_and_one_of_each_list():
    def row(name, shape=(None, 2), dtype="float32"):
        return Activation(name, shape and list(shape), dtype, "/device:GPU:1")

    names = ["inputs/words/0", "inputs/words/1", "inputs/words/2"]
    rows = [*map(row, names), row("inputs/mask", None, "int32"), row("loss", ())]
    rows += [row("step_1/hidden"), row("step_2/hidden")]
    towers = {"tower 1": Record("tower_1/", activations=rows)}
    lines = format_activations(list_activations(towers), num_steps=8).splitlines()
    assert [line.split() for line in lines[:-1]] == [
        ["tower", "tensor", "of", "its", "own", "shape", "type", "device"],
        ["tower", "1", "inputs/words/0", "(3)", "?x2", "float32", "GPU:1"],
        ["tower", "1", "inputs/mask", "?", "int32", "GPU:1"],
        ["tower", "1", "loss", "scalar", "float32", "GPU:1"],
        ["tower", "1", "step_1/hidden", "?x2", "float32", "GPU:1"],
    ]
    assert lines[-1].startswith("step 1 of 8, 2 of them traced; each step has tensors like these")


@pytest.mark.parametrize("parts", [dict, own_parts])
def test_the_steps_that_are_not_traced_would_read_and_make_nothing_else(parts):
    network = RecurrentRelationalNetwork(4, 8, **parts())
    graph = SparseGraph([0, 1, 2], [1, 2, 0], 3)

    def loss_fn(encodings, batch):
        hidden, state = network.segment(graph, batch["x"], 5, None)
        assert len(hidden) == 5 and hidden[-1] is state.hidden
        return [tf.reduce_mean(tf.stack(hidden))], None

    def traced(steps):
        with recording(steps) as towers, tower_scope("tower 0"):
            batch, variables = {"x": tf.zeros([3, 4])}, network.trainable_variables
            result = tower_gradients(CPUS[0], lambda b: {}, loss_fn, batch, [variables])
        return towers["tower 0"], [gradient is None for gradient in result.gradients[0]]

    (every, without), (two, without_by_two) = traced(None), traced(2)
    assert two.reads == every.reads and len(every.reads) == len(network.trainable_variables)
    assert without_by_two == without and two.num_steps == every.num_steps == 5

    def made_in(record, step):
        of_step = [a for a in record.activations if a.name.startswith(f"step_{step}/")]
        return [a._replace(name=a.name.partition("/")[2]) for a in of_step]

    assert [made_in(every, step) for step in range(2, 6)] == 4 * [made_in(two, 2)]
    assert made_in(two, 1) == made_in(every, 1) and not made_in(two, 3)


def test_the_graph_has_variables_by_name_and_everything_on_its_device(traced, tmp_path):
    _, function, variables = traced
    server = "/job:ps/replica:0/task:0/device:CPU:0"
    write_graph(tmp_path, graph_with_variables(function, variables, {"CPU:1": server}))
    events = EventAccumulator(str(tmp_path)).Reload()  # as TensorBoard reads it
    nodes = {node.name: node for node in events.Graph().node}
    for variable in variables:
        device = nodes[f"variables/{variable.name.removesuffix(':0')}"].device
        assert device == (variable.device if "encoder" in variable.name else server)
    for node in nodes.values():
        for source in node.input:
            assert source.lstrip("^").partition(":")[0] in nodes
    by_device = collections.defaultdict(set)
    for node in nodes.values():
        by_device[node.device].add(node.op)
    assert all("MatMul" in by_device[worker] for worker in WORKERS)
    assert "MatMul" not in by_device[server] and "AssignSubVariableOp" in by_device[server]
    with tf.Graph().as_default():
        tf.import_graph_def(graph_with_variables(function, variables))
    assert len(nodes) == len(function.graph.get_operations())
