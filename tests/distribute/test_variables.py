"""Variables in shards on several devices of this process, against whole ones on one."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.distribute.variables import list_variables, plan_placement, short_device
from rrn.files.weights import load_weights, save_weights
from rrn.nn.layers import Embedding, Linear
from rrn.training.checkpoints import Checkpoints
from rrn.training.step import Trainer
from rrn.variables.reading import module_variables, read, reading_scope, shards
from rrn.variables.sharded import ShardedVariable
from tests.distribute.test_towers import all_operations
from tests.helpers import CPUS, LineTask, line_batches, line_config

EXAMPLES = np.random.default_rng(0).integers(12, size=[8, 6])


def make_linear():
    return Linear(3, 2, name="layer")


def make_layer(policy="fixed_shards", servers=CPUS[1:3], make=make_linear, axis="longest"):
    tf.random.set_seed(3)
    with plan_placement(make, policy, CPUS[:1], servers, axis).scope():
        return make()


def test_sizes_are_known_before_variables_exist():
    tf.random.set_seed(3)
    sizes = plan_placement(make_linear, "balanced", CPUS[:1], CPUS[1:3]).variables
    assert sizes == [("layer/w", (3, 2), 24), ("layer/b", (2,), 8)]
    # Nothing is drawn for it.
    first = tf.random.uniform([4])
    tf.random.set_seed(3)
    np.testing.assert_array_equal(tf.random.uniform([4]), first)


@pytest.mark.parametrize(("axis", "shapes"), [("0", [[1, 2], [2, 2]]), ("1", [[3, 1], [3, 1]])])
def test_shards_are_parts_of_the_same_values_in_their_places(axis, shapes):
    whole, layer = make_layer("cpu", ()), make_layer(axis=axis)
    assert isinstance(layer.w, ShardedVariable) and isinstance(whole.w, tf.Variable)
    assert [v.name for v in shards([layer.w])] == ["layer/w/part_0:0", "layer/w/part_1:0"]
    assert [v.device[-5:] for v in shards([layer.w, layer.b])] == ["CPU:1", "CPU:2"] * 2
    assert [v.shape for v in layer.trainable_variables] == [[1], [1], *shapes]
    assert module_variables(layer) == [layer.b, layer.w]
    for ours, theirs in ((layer.w, whole.w), (layer.b, whole.b)):
        assert ours.name == theirs.name.removesuffix(":0") and ours.shape == theirs.shape
        np.testing.assert_array_equal(tf.convert_to_tensor(ours), theirs)


def test_a_sharded_variable_is_read_once_and_takes_values_of_its_shape_alone():
    layer = make_layer(axis="1")
    with reading_scope() as scope:
        tensor = read(layer.w)
        assert read(layer.w) is tensor and read(layer.w, tf.bfloat16).dtype == tf.bfloat16
    assert scope.counts == {shard.ref(): 1 for shard in shards([layer.w])}
    np.testing.assert_array_equal(tensor, tf.concat(shards([layer.w]), 1))
    layer.w.assign(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(shards([layer.w])[1], [[1], [3], [5]])
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        layer.w.assign(np.zeros([2, 3]))


@pytest.mark.parametrize("axis", [0, 1])
def test_sparse_gradients_are_each_shards_own(axis):
    def make():
        return Embedding(5, 2, name="words")

    whole = make_layer("cpu", (), make)
    table = make_layer(make=make, axis=str(axis))
    gradients = []
    for embedding in (whole, table):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(embedding([4, 1, 1, 2]) ** 2)
        own = tape.gradient(loss, shards([embedding.table]))
        assert all(isinstance(gradient, tf.IndexedSlices) for gradient in own)
        gradients.append(tf.concat([tf.convert_to_tensor(gradient) for gradient in own], axis))
    np.testing.assert_array_equal(*gradients)


def train(policy, servers, folder, updates, axis="longest"):
    """The trainer after `updates` more updates from the last checkpoint in `folder`, saved."""
    tf.random.set_seed(0)
    with plan_placement(LineTask, policy, CPUS[:1], servers, axis).scope():
        task = LineTask()
    checkpoints = Checkpoints(folder, 100, 1000)
    batches = line_batches(task, EXAMPLES)
    config = line_config(clip_norm=0.5, l2=0.01, ema_decay=0.9)
    trainer = Trainer(task, config, CPUS[:1], [batches.element_spec])
    checkpoints.track(trainer)
    if updates:
        trainer.train([iter(batches)], tf.constant(updates))
    checkpoints.save()
    return trainer


def state(trainer):
    optimizer = trainer.optimizers[0]
    averages = trainer.averages.averages
    variables = [*trainer.model_variables, *optimizer.m, *optimizer.v, *averages]
    return np.concatenate([np.ravel(tf.convert_to_tensor(v)) for v in variables])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """[(folder, trainer after 5 updates)]: whole on one device, in rows and in columns on two."""
    made = []
    for axis in (None, "0", "1"):
        folder = tmp_path_factory.mktemp("run")
        args = ("cpu", (), folder, 5)
        if axis:
            args = ("fixed_shards", CPUS[2:4], folder, 5, axis)
        made.append((folder, train(*args)))
    return made


def test_updates_of_shards_equal_those_of_whole_variables(runs):
    whole, *sharded = [state(trainer) for _, trainer in runs]
    for values in sharded:
        np.testing.assert_allclose(values, whole, rtol=0, atol=1e-6)


def test_slots_stand_with_their_shard(runs):
    _, _, (_, trainer) = runs
    optimizer = trainer.optimizers[0]
    places = [shard.device for shard in shards(trainer.model_variables)]
    assert {place[-5:] for place in places} == {"CPU:2", "CPU:3"}
    for slots in (optimizer.m, optimizer.v, trainer.averages.averages):
        assert [slot.device for slot in shards(slots)] == places


def test_what_changes_a_shard_is_computed_beside_it(runs):
    """So that a gradient goes to its server once, and nothing comes back.

    Of each of nine shards: its gradient's share, clipping, average; of four the L2 term.
    """
    trainer = runs[1][1]
    places = [short_device(d) for kind, d in all_operations(trainer.traced) if kind == "Mul"]
    assert places.count("CPU:2") + places.count("CPU:3") == 3 * 9 + 4


@pytest.mark.parametrize("saved", [0, 1, 2])
def test_checkpoints_are_the_same_whole_or_in_shards(runs, saved, tmp_path):
    folder, trainer = runs[saved]
    for file in (folder / "last").iterdir():
        (tmp_path / "last").mkdir(exist_ok=True)
        (tmp_path / "last" / file.name).write_bytes(file.read_bytes())
    policy, servers = ("cpu", ()) if saved == 1 else ("balanced", CPUS[1:4])
    restored = train(policy, servers, tmp_path, 0)
    assert restored.update == 5
    np.testing.assert_array_equal(state(restored), state(trainer))


def test_weights_are_the_same_whole_or_in_shards(tmp_path):
    path, whole, layer = tmp_path / "weights.h5", make_layer("cpu", ()), make_layer()
    shards([layer.w])[1].assign([[5.0, 6.0], [7.0, 8.0]])
    save_weights(path, module_variables(layer), {})
    load_weights(path, module_variables(whole))
    np.testing.assert_array_equal(whole.w[1:], [[5.0, 6.0], [7.0, 8.0]])
    save_weights(path, module_variables(whole), {})
    again = make_layer("balanced", CPUS[:3])
    load_weights(path, module_variables(again))
    np.testing.assert_array_equal(tf.convert_to_tensor(again.w), whole.w)


def test_the_list_has_each_shard():
    layer = make_layer()
    rows = list_variables([layer.w, layer.b], {}, {})
    assert [(row["name"], row["shape"], row["bytes"], row["device"]) for row in rows] == [
        ("layer/b/part_0", [1], 4, "CPU:1"),
        ("layer/b/part_1", [1], 4, "CPU:2"),
        ("layer/w/part_0", [1, 2], 8, "CPU:1"),
        ("layer/w/part_1", [2, 2], 16, "CPU:2"),
    ]


def test_a_policy_that_does_not_fit_is_an_error():
    for policy, servers, message in (
        ("balanced", (), "policy balanced needs parameter servers"),
        ("first_device", CPUS[:2], "first_device has no use for parameter servers"),
    ):
        with pytest.raises(ValueError, match=message):
            plan_placement(make_linear, policy, CPUS[:1], servers)


GPU, OTHER = "/device:GPU:0", "/device:GPU:1"


@pytest.mark.parametrize(
    ("policy", "devices", "servers", "network", "encoder"),
    [
        ("first_device", CPUS[2:], (), CPUS[2], CPUS[0]),
        ("cpu", CPUS[2:], (), CPUS[0], CPUS[0]),
        ("auto", CPUS[2:], (), CPUS[0], CPUS[0]),
        ("auto", CPUS[2:3], (), CPUS[0], CPUS[0]),
        ("auto", [GPU], (), GPU, CPUS[0]),
        ("auto", [GPU, OTHER], (), CPUS[0], CPUS[0]),
        ("auto", [GPU], ["/job:ps/task:0"], "/job:ps/task:0", "/job:ps/task:0"),
    ],
)
def test_pinned_variables_stay_on_the_cpu(policy, devices, servers, network, encoder):
    """Here the encoder's; those of a single GPU are on it."""
    args = LineTask, policy, devices, servers
    placement = plan_placement(*args, pinned=lambda task: task.encoder.variables)
    if not placement.plan:
        assert placement.servers[0] == network == encoder
    found = {"network": set(), "encoder": set()}
    for variable, (shard,) in zip(placement.variables, placement.plan, strict=True):
        module = "network" if variable.name.startswith("network") else "encoder"
        found[module].add(placement.servers[shard.server])
    assert not placement.plan or found == {"network": {network}, "encoder": {encoder}}
