"""Small settings, a small bAbI file and a hand-made task that several rooms' tests share."""

import importlib.util
import os
from pathlib import Path
from unittest import mock

import numpy as np
import tensorflow as tf

from rrn.config import replace
from rrn.distribute.cluster import find_cluster
from rrn.distribute.towers import make_towers
from rrn.files.data import read_prepared
from rrn.nn.layers import Embedding, Linear
from rrn.tasks import create_task
from rrn.tasks.inputs import training_inputs
from rrn.tasks.task import Task
from rrn.training.step import Trainer, average, run_tower
from rrn.variables.random import ExampleRandom

ROOT = Path(__file__).resolve().parents[1]
CPUS = [f"/device:CPU:{i}" for i in range(4)]


def load_config(file, variant=""):
    """`get_config(variant)` of a file of configs/."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / "configs" / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(variant)


# What takes long to trace or to compute, and makes no difference to which stage trains what: field
# of `model`, or a stage's option -> the most of it. VGG19 needs gigabytes in its own width.
MOST = {"num_steps": 1, "num_parts": 1, "width": 4, "hidden_size": 8, "max_facts": 8}


def shrink(config):
    """Cuts the fields of `MOST`, in the model and in the options of every stage."""

    def cut(fields):
        return {n: min(value, MOST[n]) for n, value in fields.items() if n in MOST}

    stages = [
        replace(stage, options={**stage.options, **cut(stage.options)})
        for stage in config.train.stages
    ]
    return replace(config, model=cut(dict(config.model)), train={"stages": stages})


def make_small(config, path):
    """Sizes at which bAbI on the small file traces fast."""
    model = {"embedding_size": 8, "encoding_size": 6, "hidden_size": 16}
    model |= {"max_facts": 6, "num_steps": 2, "num_parts": 2}
    return replace(config, data={"path": str(path)}, model=model, train={"batch_size": 16})


def small_babi(path, **model):
    """(config, prepared data, task) of bAbI at small sizes; `model` changes the model's config."""
    config = replace(make_small(load_config("babi.py", "test"), path), model=model)
    data = read_prepared(path)
    return config, data, create_task(config.model, data)


def towers_of(task, devices, compiled=False, encodes_itself=False):
    """A task's towers."""
    return make_towers(devices, task.network, task.encoder, encodes_itself, compiled)


def make_trainer(
    config, data, task, devices, first_update=0, compiled=False, encodes_itself=False, of=Trainer
):
    """(Trainer, its devices' inputs); see `Tower` for what is compiled and encoded where."""
    task.fixed_shapes = compiled
    inputs = training_inputs(
        task, data.arrays("train"), config.train.batch_size, len(devices), config.seed, first_update
    )
    specs = [dataset.element_spec for dataset in inputs]
    towers = towers_of(task, devices, compiled, encodes_itself)
    return of(task, config.train, towers, specs, data.arrays("train"), first_update), inputs


def check_two_devices_equal_one(config, data, task):
    """Five updates on two devices are those on one, but for rounding; all variables change."""
    initial = [variable.numpy() for variable in task.network.trainable_variables]
    results = []
    for count in (1, 2):
        for variable, value in zip(task.network.trainable_variables, initial, strict=True):
            variable.assign(value)
        trainer, inputs = make_trainer(config, data, task, CPUS[:count])
        for _, *batches in zip(range(5), *inputs, strict=False):
            _, finite = trainer.update_once(batches)
            assert finite
        results.append([variable.numpy() for variable in task.network.trainable_variables])
    for ours, theirs, old in zip(*results, initial, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
        assert (ours != old).any()


def write_babi_texts(folder):
    """Writes bAbI text files of tasks 1 to 3: people walk, and are asked for after 1 to 3 facts."""
    folder = folder / "en-valid-10k"
    folder.mkdir()
    rng = np.random.default_rng(0)
    people, places = ["Mary", "John", "Daniel"], ["kitchen", "garden", "office", "hall"]
    for task in (1, 2, 3):
        for split, stories in (("train", 20), ("valid", 5), ("test", 5)):
            lines = []
            for _ in range(stories):
                number, where = 0, {}
                for _ in range(3):
                    for _ in range(rng.integers(1, 4)):
                        number += 1
                        who, place = rng.choice(people), rng.choice(places)
                        where[who] = place, number
                        lines.append(f"{number} {who} went to the {place}.")
                    number += 1
                    who = rng.choice(list(where))
                    place, told = where[who]
                    lines.append(f"{number} Where is {who}?\t{place}\t{told}")
            (folder / f"qa{task}_{split}.txt").write_text("\n".join(lines) + "\n")


class LineTask(Task):
    """y is a line of the encoded x, plus noise; 12 examples of 2 kinds.

    The encoder has a dense layer and an embedding (sparse gradients), the network a dense layer.
    """

    def __init__(self, noise=0.1):
        super().__init__(None, tf.Module(name="network"))
        self.noise = noise
        self.encoder.linear = Linear(3, 2, name="encoder_linear")
        self.encoder.embedding = Embedding(2, 2)
        self.network.linear = Linear(2, 1, name="network_linear")
        rng = np.random.default_rng(1)
        self.arrays = {
            "x": tf.constant(rng.normal(size=[12, 3]), tf.float32),
            "y": tf.constant(rng.normal(size=[12]), tf.float32),
            "kind": tf.constant([0, 1, 1] * 4),
        }

    def num_examples(self, arrays):
        return len(arrays["y"])

    def draw_examples(self, arrays, seed, batch_size):
        draws = tf.random.stateless_uniform([batch_size], seed)
        return tf.cast(draws * tf.cast(tf.size(arrays["y"]), tf.float32), tf.int32)

    def make_batch(self, arrays, examples, random, training):
        batch = {name: tf.gather(array, examples) for name, array in arrays.items()}
        return {**batch, "noise": self.noise * random.uniform([])}

    def encode(self, batch):
        return {"h": self.encoder.linear(batch["x"]) + self.encoder.embedding(batch["kind"])}

    def loss(self, encodings, batch, random, training):
        h = encodings["h"]
        if training:
            h *= tf.cast(random.uniform([2]) < 0.5, tf.float32) * 2.0
        loss = (self.network.linear(h)[:, 0] + batch["noise"] - batch["y"]) ** 2
        return {"loss": loss}, {"loss": loss}

    def regularized(self):
        return [self.encoder.linear.w, self.network.linear.w]

    def metrics(self, batch, outputs):
        """The mean of y, over all and by kind."""
        ones = tf.ones_like(batch["y"])
        by_kind = [tf.math.unsorted_segment_sum(v, batch["kind"], 2) for v in (batch["y"], ones)]
        return {"y": (tf.reduce_sum(batch["y"]), tf.reduce_sum(ones)), "y_by_kind": tuple(by_kind)}


def line_batches(task, examples):
    """A data set of one device's batches: `examples` has one row of ids for each update."""
    examples = np.asarray(examples)

    def batch_of(update, ids):
        random = ExampleRandom([0, 0], ids, 12)
        batch = task.make_batch(task.arrays, ids, random, training=True)
        rows = tf.range(tf.size(ids))
        seed = tf.stack([7, tf.cast(update, tf.int32)])
        return {**batch, "examples": ids, "rows": rows, "seed": seed}

    updates = tf.range(len(examples))
    return tf.data.Dataset.from_tensor_slices((updates, np.int32(examples))).map(batch_of)


def line_config(**fields):
    """The experiment's `train` for `LineTask`.

    Stages are dicts of the fields in which they differ from what is given for all; so are the
    objectives in them.
    """
    stages = fields.pop("stages", ())
    train = load_config("babi.py", "test").train
    usual = {"batch_size": 6, "learning_rate": 0.01, "l2": 0.0, "num_updates": 10}
    train = replace(train, **{**usual, **fields})
    return replace(
        train, stages=[_stage(train.stages[0], **stage) for stage in stages] or train.stages
    )


def _stage(stage, objectives=(), **fields):
    stage = replace(stage, **fields)
    own = [replace(stage.objectives[0], **objective) for objective in objectives]
    return replace(stage, objectives=own) if own else stage


def executable(path, script):
    """Writes a shell script that can be called as a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def parse_tf_config(text):
    """The cluster of an environment's TF_CONFIG."""
    with mock.patch.dict(os.environ, TF_CONFIG=text):
        return find_cluster(None)


def averaged(trainer, stage, batches):
    """What `average` makes of a batch on each of a trainer's towers."""
    towers = [run_tower(trainer, stage, number, batch) for number, batch in enumerate(batches)]
    return average(stage, towers, [tf.size(batch["rows"]) for batch in batches])
