"""Plans of stages: what they say, what each update changes, and runs that stop and go on."""

import itertools
import json
import runpy
import types
from typing import ClassVar

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn import config as settings
from rrn.config import Constant, Evaluate, MuonSettings, replace
from rrn.files.weights import read_weights
from rrn.nn.layers import Linear
from rrn.settings import Settings
from rrn.tasks import Report
from rrn.tasks.inputs import training_inputs
from rrn.training import Request, setup
from rrn.training.evaluate import evaluate
from rrn.training.stages import Plan
from rrn.training.step import Trainer, add_l2
from rrn.training.train import train
from rrn.training.worker_updates import AsynchronousUpdates
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close
from tests.helpers import CPUS, LineTask, averaged, line_batches, line_config
from tests.test_docs import blocks_of


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


# What a plan says


def test_a_config_without_stages_is_one_stage_of_everything():
    task = LineTask()
    plan = Plan(line_config(num_updates=7), task)
    (stage,) = plan.stages
    (objective,) = stage.objectives
    assert (stage.name, objective.loss, plan.num_updates) == ("train", "loss", 7)
    expected = [*task.encoder.trainable_variables, *task.network.trainable_variables]
    assert names(objective.variables_) == names(expected)
    for update in (0, 6, 7, 100):  # and whatever follows
        assert plan.stage(update) is stage


def test_a_plan_has_the_variables_of_every_objective():
    _, judge, both = Plan(contest_config(), ContestTask()).stages
    line = ["encoder_linear/b", "encoder_linear/w", "embedding/table"]
    line += ["network_linear/b", "network_linear/w"]
    assert sorted(names(both.objectives[0].variables_)) == sorted(line)
    assert sorted(names(judge.trained())) == ["judge/b", "judge/w"]


def test_where_an_update_stands():
    """Against a list of all updates, written out."""
    plan = Plan(contest_config(), ContestTask())
    listed = [stage for stage in plan.stages for _ in range(stage.num_updates)]
    assert plan.num_updates == len(listed) == 15
    for update, stage in enumerate(listed):
        assert plan.stage(update) is stage
        rest = itertools.takewhile(lambda s, stage=stage: s is stage, listed[update:])
        assert plan.updates_left(update) == len(list(rest))
        over = stage not in listed[update + 1 :]
        assert plan.finished(update + 1) is (stage if over else None)
    assert plan.finished(0) is None


WRONG = {
    "loss": ({"loss": "win"}, "stage s: loss must be one of fit, judge, fool, got 'win'"),
    "module": (
        {"modules": ("network.jury",)},
        "stage s: modules must be a tuple of some of encoder, network, encoder.linear, "
        "encoder.embedding, network.linear, network.judge; got 'network.jury'",
    ),
    "no modules": ({"modules": ()}, r"stage s: modules \(\) have no variables"),
    "option": (
        {"options": {"steps": 2}},
        r"stage s: options\.steps: no such option; this task's are scale, exact",
    ),
    "optimizer's argument": (
        {"optimizer": MuonSettings(exclude="words")},
        "stage s: optimizer muon: exclude: 'words' is found in none of .*embedding/table, ",
    ),
    "shared": (
        {"objectives": ({"loss": "fit"}, {"loss": "fool", "modules": ("network",)})},
        "stage s: only one objective can train network_linear/b, network_linear/w",
    ),
    "not reached": (
        {"modules": ("encoder", "network.judge")},
        "stage s: loss 'fit' reaches no variable of network.judge: judge/b, judge/w",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case):
    changes, message = WRONG[case]
    stages = ({"name": "s", "loss": "fit", "modules": LINE, **changes},)
    with pytest.raises(ValueError, match=f"^{message}") as error:
        contest_trainer(stages=stages)
    assert "\n" not in str(error.value)


# What an update changes


@pytest.fixture(scope="module")
def contest():
    return contest_trainer()


def test_every_stage_changes_its_variables_and_slots_alone(contest):
    trainer, iterators = contest
    trainer.update.assign(0)
    for stage in trainer.plan.stages:
        trainer.begin_stage()
        slots = [v for optimizer in trainer.optimizers for v in (*optimizer.m, *optimizer.v)]
        held = {v.ref() for v in trainer.variables}  # what a checkpoint holds
        assert held == {v.ref() for v in (*trainer.model_variables, *slots, trainer.update)}
        before = values([*trainer.model_variables, *slots])
        means, bad_update = trainer.train(iterators, tf.constant(stage.num_updates))
        assert bad_update == -1
        changed = {r for r, old in before.items() if (old != r.deref().numpy()).any()}
        assert changed == {v.ref() for v in (*stage.trained(), *slots)}
        assert ("verdict" in means) == (stage.name != "fit") and "y" in means
        losses = {objective.loss for objective in stage.objectives}
        assert {n.partition("/")[0] for n in means if n.endswith("/loss")} == losses
    assert trainer.update == trainer.plan.num_updates


def test_both_gradients_are_of_the_same_batch_each_of_its_own_variables(contest):
    trainer, iterators = contest
    both, batch = trainer.plan.stages[2], next(iterators[0])
    losses, gradients, _ = averaged(trainer, both, [batch])
    for objective, loss, own in zip(both.objectives, losses, gradients, strict=True):
        random = ExampleRandom(batch["seed"], batch["rows"], trainer.config.batch_size)
        with tf.GradientTape() as tape:
            expected = trainer.task.loss(trainer.task.encode(batch), batch, random, True)[0]
            expected = tf.reduce_mean(expected[objective.loss])
        assert_close(loss, expected)
        plain = tape.gradient(expected, objective.variables_)
        for ours, theirs in zip(own, add_l2(objective, plain), strict=True):
            assert_close(ours, theirs)


def test_a_stage_may_set_what_the_loss_takes():
    stages = [
        {"name": f"by_{n}", "loss": "fit", "modules": LINE, "options": {"scale": n}} for n in (1, 3)
    ]
    trainer, (iterator,) = contest_trainer(stages=stages)
    batch = next(iterator)
    one, three = (averaged(trainer, stage, [batch])[0] for stage in trainer.plan.stages)
    assert_close(three, 3.0 * np.array(one))


def test_schedules_and_bias_correction_count_the_stages_own_updates(contest):
    trainer, iterators = contest
    judge, both = trainer.plan.stages[1:]
    trainer.update.assign(judge.first)
    before = trainer.task.network.judge.w.numpy()
    means, _ = trainer.train(iterators, tf.constant(1))
    assert means["judge/learning_rate"].numpy() == pytest.approx(0.01 / 3)
    # Adam's very first step is the rate in every direction, whatever the gradient.
    step = np.abs(trainer.task.network.judge.w.numpy() - before)
    np.testing.assert_allclose(step, 0.01 / 3, rtol=1e-3)
    trainer.update.assign(both.first + 4)
    means, _ = trainer.train(iterators, tf.constant(1))
    rates = [means[f"{loss}/learning_rate"].numpy() for loss in ("fool", "judge")]
    assert rates == pytest.approx([0.02, 0.005])


def test_several_devices_equal_one_in_every_stage():
    stages = [dict(stage, num_updates=5) for stage in STAGES]
    results = []
    for num_devices in (1, 3):
        tf.random.set_seed(2)
        trainer, iterators = contest_trainer(num_devices, stages=stages, ema_decay=0.9)
        result = []
        for _ in stages:
            means, _ = trainer.train(iterators, tf.constant(5))
            variables = [*trainer.model_variables, *trainer.averages.averages]
            result.append([*means.values(), *(v.numpy() for v in variables)])
        results.append(result)
    for one, three in zip(*results, strict=True):
        for ours, theirs in zip(one, three, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_gradient_that_only_some_towers_have_counts_as_zero_in_the_others():
    class OneTower(ContestTask):
        """Only the first tower's loss reaches the judge."""

        traced = 0

        def loss(self, encodings, batch, random, training):
            losses, outputs = super().loss(encodings, batch, random, training)
            self.traced += 1
            return {"fit": losses["fool" if self.traced == 1 else "fit"]}, outputs

    task = OneTower()
    inputs = [line_batches(task, rows) for rows in ([[0, 1, 2, 3]], [[4, 5]])]
    specs = [dataset.element_spec for dataset in inputs]
    stages = ({"name": "s", "loss": "fit"},)
    trainer = Trainer(task, contest_config(stages=stages, l2=0.0), CPUS[:2], specs)
    batches = [next(iter(dataset)) for dataset in inputs]
    task.traced = 0
    (stage,) = trainer.plan.stages
    _, (gradients,), _ = averaged(trainer, stage, batches)
    with tf.GradientTape() as tape:
        verdict = task.network.judge(task.encode(batches[0])["h"])[:, 0]
        loss = tf.reduce_mean(tf.nn.softplus(verdict))
    expected = tape.gradient(loss, task.network.judge.w)  # of 4 of the 6 examples
    found = dict(zip(names(stage.trained()), gradients, strict=True))["judge/w"]
    assert_close(found, 4 / 6 * expected)
    before = task.network.judge.w.numpy()
    trainer.update_once(batches)
    assert (task.network.judge.w.numpy() != before).all()


# A run in stages


class LineData:
    path, attributes, digest = "line.h5", {"notes": ""}, ""

    def __init__(self, task):
        self._arrays = task.arrays

    def arrays(self, split):
        return self._arrays

    def check_compatible(self, other):
        assert other is self

    def check_split(self, split):
        pass


@pytest.fixture
def config():
    """The contest's."""
    train = contest_config(
        checkpoint_every_updates=5, log_every_updates=2, evaluate_every_updates=10
    )
    return settings.Experiment(
        model=ContestModel(),
        seed=1,
        data=settings.Data(path="line.h5"),
        train=train,
        evaluate=Evaluate(batch_size=12, examples=10),
    )


@pytest.fixture
def train_in(config, monkeypatch):
    """A function: folder -> the contest is trained in it, as a new process does."""

    def create(model, data):
        tf.random.set_seed(5)
        return ContestTask()

    found = types.SimpleNamespace(SCHEMAS=[(None, None)])
    monkeypatch.setattr(setup, "find_task", lambda name: found)
    monkeypatch.setattr(setup, "read_prepared", lambda path, schema: LineData(ContestTask()))
    monkeypatch.setattr(setup, "create_task", create)
    monkeypatch.setattr(setup, "create_report", ContestReport)

    def train_in(folder, devices="cpu", sync=True, **fields):
        changed = replace(config, train=fields)
        train(Request(changed, "contest", folder, devices=devices, sync=sync))

    return train_in


def test_a_stage_may_set_what_its_batches_are_made_with(train_in, tmp_path, monkeypatch):
    traced = []

    def record(*args, options=None, **settings):
        traced.append(options)
        return training_inputs(*args, options=options, **settings)

    monkeypatch.setattr(setup, "training_inputs", record)
    train_in(tmp_path)
    exact = {"exact": True}
    assert traced == [{}, exact]  # two of the three stages have the same options
    task = ContestTask()
    (inputs,) = training_inputs(task, task.arrays, 6, 1, 0, 0, options=exact)
    assert not next(iter(inputs))["noise"].numpy().any()


class Killed(Exception):
    pass


def test_a_run_killed_in_any_stage_goes_on_to_the_same_bits(train_in, tmp_path, monkeypatch):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train_in(whole)
    several = Trainer.train
    for last in (7, 13):  # in "judge", in "both"

        def until(trainer, iterators, num_updates, last=last):
            if trainer.update + tf.cast(num_updates, tf.int64) > last:
                raise Killed
            return several(trainer, iterators, num_updates)

        monkeypatch.setattr(Trainer, "train", until)
        with pytest.raises(Killed):
            train_in(killed)
    monkeypatch.setattr(Trainer, "train", several)
    train_in(killed)
    files = ["weights.h5", *(f"weights_{stage['name']}.h5" for stage in STAGES)]
    for file in files:
        with h5py.File(whole / file) as a, h5py.File(killed / file) as b:
            assert dict(a.attrs) == dict(b.attrs)
            for name in ("encoder_linear", "embedding", "network_linear", "judge"):
                for part in a[name]:
                    np.testing.assert_array_equal(a[f"{name}/{part}"][()], b[f"{name}/{part}"][()])
    results = [json.loads((folder / "results.json").read_text()) for folder in (whole, killed)]
    assert [one.pop("made")["update"] for one in results] == [15, 15]
    assert results[0] == results[1] and results[0]["examples"] == 10
    check_files(whole, results[0])


def test_devices_that_do_not_wait_resume_after_a_kill(train_in, tmp_path, monkeypatch):
    several, calls = AsynchronousUpdates.train, []
    one = contest_config(({**STAGES[0], "num_updates": 15},)).stages

    def until(updates, num_updates):
        calls.append(num_updates)
        if len(calls) == 5:
            raise Killed
        return several(updates, num_updates)

    monkeypatch.setattr(AsynchronousUpdates, "train", until)
    with pytest.raises(Killed):
        train_in(tmp_path, "cpu:2", sync=False, stages=one)
    train_in(tmp_path, "cpu:2", sync=False, stages=one)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    updates = [line["update"] for line in training]
    assert updates == sorted({*updates}) and updates[-1] == 15
    for line, count in zip(training, np.diff([0, *updates]), strict=True):
        assert len(line["staleness_counts"]) == 5 and sum(line["staleness_counts"]) == count
        assert 0 <= line["staleness"] <= line["staleness_max"]


def test_weights_of_another_update_than_the_last_stages_end_have_results_of_their_own(
    train_in, config, tmp_path
):
    """As after a run that was extended, and stopped before its end."""
    train_in(tmp_path)
    (tmp_path / "weights.h5").write_bytes((tmp_path / "weights_fit.h5").read_bytes())
    evaluate(Request(config, "contest", tmp_path, mode="evaluate", devices="cpu"))
    results = json.loads((tmp_path / "results.json").read_text())
    by_stage = results["by_stage"]
    assert results["metrics"] == by_stage["fit"] != by_stage["both"]
    assert results["made"]["update"] == 5
    assert results["made"]["weights"] == read_weights(tmp_path / "weights.h5").sha256()


def check_files(folder, results):
    """What a run in stages says about them."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    training = [(line["update"], line["stage"]) for line in lines if "split" not in line]
    ends = [(4, "fit"), (5, "fit"), (9, "judge"), (10, "both")]
    assert set(ends) < set(training) and training[-1] == (15, "both")
    # Stages are validated where they end, too.
    assert [line["update"] for line in lines if "split" in line] == [5, 9, 10, 15]
    for stage, update in (("fit", 5), ("judge", 9), ("both", 15)):
        with h5py.File(folder / f"weights_{stage}.h5") as file:
            assert file.attrs["update"] == update
    with h5py.File(folder / "weights.h5") as file, h5py.File(folder / "weights_both.h5") as both:
        assert file.attrs["update"] == 15  # the last, though another stage's loss was lower
        np.testing.assert_array_equal(file["judge/w"][()], both["judge/w"][()])
    assert results["by_stage"].keys() == {"fit", "judge", "both"}
    assert results["by_stage"]["both"] == results["metrics"]
    assert results["by_stage"]["fit"]["loss"] == results["by_stage"]["judge"]["loss"]
    rows = json.loads((folder / "variables.json").read_text())
    stages = {row["name"]: row["stages"] for row in rows}
    assert stages["judge/w"] == ["judge", "both"] and stages["embedding/table"] == ["fit", "both"]
    config = json.loads((folder / "config.json").read_text())
    assert config["train"]["stages"][2]["objectives"][1]["learning_rate"] == 0.005


def test_the_python_of_stages_md_runs(tmp_path, monkeypatch, capsys):
    """Each stage lowers its loss; the discriminator's leaves the generator as it is."""
    (tmp_path / "code.py").write_text("\n".join(blocks_of("docs/guide/stages.md", "python")))
    monkeypatch.chdir(tmp_path)
    runpy.run_path("code.py")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["fit", "judge", "both"]
    pairs = [zip(line[1::2], map(float, line[2::2]), strict=True) for line in lines]
    fit, judge, both = map(dict, pairs)
    assert judge["judge"] < fit["judge"] and both["fool"] < judge["fool"]
    assert both["fit"] < 0.01 < judge["fit"]
