"""`LineTask` with a judge: a task of several losses, in three stages."""

from typing import ClassVar

import tensorflow as tf

from rrn import config as settings
from rrn.config import Constant
from rrn.nn.layers import Linear
from rrn.settings import Settings
from rrn.tasks import Report
from rrn.tasks.inputs import training_inputs
from rrn.training.step import Trainer
from tests.helpers import CPUS, LineTask, line_config


class LossOptions(Settings):
    scale: settings.Steps = 1


class BatchOptions(Settings):
    exact: bool = False


class ContestModel(settings.ModelSettings):
    TASK = "contest"
    LOSS_OPTIONS, BATCH_OPTIONS = LossOptions, BatchOptions


class ContestTask(LineTask):
    """`LineTask` with a judge that has a loss of its own, and a loss through the judge.

    Its batches may be without noise.
    """

    metric_losses: ClassVar = {"verdict": "judge"}

    def __init__(self):
        super().__init__()
        self.config = ContestModel()
        self.network.judge = Linear(2, 1, name="judge")

    def make_batch(self, arrays, examples, random, training, exact=False):
        batch = super().make_batch(arrays, examples, random, training)
        return {**batch, "noise": tf.zeros_like(batch["noise"])} if exact else batch

    def loss(self, encodings, batch, random, training, scale=1):
        losses, outputs = super().loss(encodings, batch, random, training)
        verdict = self.network.judge(encodings["h"])[:, 0]
        fit, judge = scale * losses["loss"], tf.nn.softplus(batch["y"] * verdict)
        outputs["verdict"] = verdict
        return {"fit": fit, "judge": judge, "fool": fit + tf.nn.softplus(verdict)}, outputs

    def metrics(self, batch, outputs):
        count = tf.cast(tf.size(outputs["verdict"]), tf.float32)
        verdict = tf.reduce_sum(outputs["verdict"]), count
        return {**super().metrics(batch, outputs), "verdict": verdict}


class ContestReport(Report):
    def table(self, results):
        return f"loss {results.metrics['loss']:.4f} {sorted(results.by_stage)}"


LINE = "encoder", "network.linear"
STAGES = (
    {"name": "fit", "num_updates": 5, "loss": "fit", "modules": LINE},
    {
        "name": "judge",
        "num_updates": 4,
        "loss": "judge",
        "modules": ("network.judge",),
        "options": {"exact": True},
    },
    {
        "name": "both",
        "num_updates": 6,
        "learning_rate": 0.02,
        "objectives": (
            {"loss": "fool", "modules": LINE},
            {"loss": "judge", "modules": ("network.judge",), "learning_rate": 0.005},
        ),
    },
)


def contest_config(stages=STAGES, **fields):
    usual = {"schedule": Constant(warmup_updates=3), "l2": 0.01, "clip_norm": 0.5}
    return line_config(**{**usual, "stages": stages, **fields})


def contest_trainer(num_devices=1, **fields):
    """(Trainer of a contest, its devices' endless iterators over the same global batches)."""
    task = ContestTask()
    inputs = training_inputs(task, task.arrays, 6, num_devices, 0, 0)
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, contest_config(**fields), CPUS[:num_devices], specs)
    return trainer, [iter(dataset) for dataset in inputs]


def names(variables):
    return [variable.name.removesuffix(":0") for variable in variables]


def values(variables):
    return {v.ref(): v.numpy() for v in variables}
