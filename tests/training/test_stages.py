"""Plans of stages: what they say, and what each update changes."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import Cosine, MuonSettings
from rrn.training.stages import Plan
from rrn.training.step import Trainer, add_l2
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close
from tests.helpers import CPUS, LineTask, averaged, line_batches, line_config
from tests.training.contest import (
    LINE,
    STAGES,
    ContestTask,
    contest_config,
    contest_trainer,
    names,
    values,
)

# What a plan says


def test_a_config_without_stages_is_one_stage_of_everything():
    task = LineTask()
    plan = Plan(line_config(num_updates=7), task)
    (stage,) = plan.stages
    (objective,) = stage.objectives
    assert (stage.name, objective.loss, plan.num_updates) == ("train", "loss", 7)
    expected = [*task.encoder.trainable_variables, *task.network.trainable_variables]
    assert names(objective.variables_) == names(expected)
    (stage,) = Plan(line_config(num_updates=20, schedule=Cosine()), task).stages
    rates = [float(stage.objectives[0].rate(update)) for update in (0, 10, 20)]
    assert rates == pytest.approx([0.01, 0.005, 0.0])
    (stage,) = plan.stages
    for update in (0, 6, 7, 100):  # and whatever follows
        assert plan.stage(update) is stage


def test_a_plan_has_the_variables_of_every_objective():
    _, judge, both = Plan(contest_config(), ContestTask()).stages
    line = ["encoder_linear/b", "encoder_linear/w", "embedding/table"]
    line += ["network_linear/b", "network_linear/w"]
    assert sorted(names(both.objectives[0].variables_)) == sorted(line)
    assert sorted(names(judge.trained())) == ["judge/b", "judge/w"]
    parts = [{"loss": "fit", "modules": (module,)} for module in ("encoder", "network.linear")]
    (stage,) = Plan(
        contest_config(stages=({"name": "s", "objectives": parts},)), ContestTask()
    ).stages
    labels = [objective.label("loss") for objective in stage.objectives]
    assert labels == ["fit of encoder/loss", "fit of network.linear/loss"]


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
    stage = {"name": "s", "loss": "fit", "modules": LINE, **changes}
    for stages in ((stage,), (STAGES[0], stage)):  # before the first update, whichever it is
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
