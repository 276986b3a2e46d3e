"""Runs that are stopped or killed, in processes of their own, and go on."""

import json
import os
import random
import re
import signal
import time

import pytest

from tests.program import LIMIT, assert_same_end, command, finish, run, start, succeed

LONG = [
    *("--config.train.num_updates=240", "--config.train.evaluate_every_updates=60"),
    *("--config.train.checkpoint_every_updates=30", "--config.train.ema_decay=0.9"),
    *("--config.train.log_every_updates=6", "--config.train.clip_norm=1.0"),
    "--config.model.num_steps=1",  # a second step would be traced for nothing
]


def wait_for_update(process):
    """Reads until the process trains."""
    for line in process.stdout:
        if line.startswith("update "):
            return
    pytest.fail(f"no training: {process.stderr.read()}")


def is_done(workdir):
    return (workdir / "results.json").exists()


@pytest.fixture(scope="module")
def uninterrupted(small_babi_h5, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("uninterrupted") / "run"
    succeed(command(small_babi_h5, *LONG, "--workdir", workdir))
    return workdir


@pytest.mark.slow
@pytest.mark.timeout(5 * LIMIT)
def test_stopped_runs_resume_to_the_same_bits(uninterrupted, small_babi_h5, tmp_path):
    arguments = command(small_babi_h5, *LONG, "--workdir", tmp_path)
    for number, expected in (signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129):
        process = start(arguments)
        wait_for_update(process)
        process.send_signal(number)
        status, out, err = finish(process)
        assert status == expected, err
        assert "Traceback" not in err
        last = out.splitlines()[-1]
        assert last.startswith("Stopped at update ") and "the same command resumes there" in last
        update = int(last.split()[3].rstrip(";"))
        assert 0 < update < 240
        assert (tmp_path / "checkpoints" / "last" / f"ckpt-{update}.index").exists()
        assert not is_done(tmp_path)
    out = succeed(arguments)
    first = int(out.split()[1].split("/")[0])
    assert first > update
    assert_same_end(tmp_path, uninterrupted)


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_a_compiled_run_resumes_to_the_same_bits(small_babi_h5, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    arguments = command(small_babi_h5, *LONG, "--jit=on")
    succeed([*arguments, "--workdir", str(whole)])
    process = start([*arguments, "--workdir", str(parts)])
    wait_for_update(process)
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert status == 0 and "Stopped at update " in out, err
    succeed([*arguments, "--workdir", str(parts)])
    assert_same_end(parts, whole)


@pytest.mark.slow
@pytest.mark.timeout(6 * LIMIT)
def test_killed_runs_resume_to_the_same_bits(uninterrupted, small_babi_h5, tmp_path):
    """Until the first is killed, a second process in its folder is refused."""
    arguments = command(small_babi_h5, *LONG, "--workdir", tmp_path)
    rng = random.Random()
    for number in range(3):
        process = start(arguments)
        try:
            wait_for_update(process)
            if number == 0:
                assert_refused(arguments, tmp_path, process)
            else:
                time.sleep(rng.uniform(0.0, 1.5))
        finally:
            process.kill()
            finish(process)
        assert process.returncode in (-signal.SIGKILL, 0)
    succeed(arguments)
    assert_same_end(tmp_path, uninterrupted)


def assert_refused(arguments, workdir, owner):
    """A process that starts while `owner` trains in its folder ends, and changes nothing there."""
    before = {*os.listdir(workdir), "checkpoints"}  # which the owner may make meanwhile
    status, _, err = run(arguments)
    assert status == 1 and before == {*os.listdir(workdir), "checkpoints"}
    assert err.startswith(f"error: --workdir={workdir}: process {owner.pid} of ")


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_devices_that_do_not_wait_go_on_after_a_kill(small_babi_h5, tmp_path):
    flags = *LONG, "--config.train.checkpoint_every_updates=6", "--nosync", "--workdir", tmp_path
    arguments = command(small_babi_h5, *flags, devices="cpu:2")
    process = start(arguments)
    while not list(tmp_path.glob("checkpoints/last/ckpt-[1-9]*.index")):
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    finish(process)
    assert not is_done(tmp_path)
    out = succeed(arguments)
    first = int(re.search(r"^update (\d+)/", out, re.MULTILINE)[1])
    assert first > 6 and "update 240/240" in out and is_done(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    assert [line["update"] for line in training] == list(range(6, 241, 6))
    for line in training:
        assert len(line["staleness_counts"]) == 5 and sum(line["staleness_counts"]) == 6
        assert 0 <= line["staleness"] <= line["staleness_max"]


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_a_loss_that_is_not_finite_ends_devices_that_do_not_wait(small_babi_h5, tmp_path):
    """Within three updates the weights are so large that a product of them overflows."""
    flags = "--nosync", "--config.train.learning_rate=1e9", "--workdir", tmp_path
    arguments = command(small_babi_h5, *LONG, *flags, devices="cpu:2")
    status, out, err = run(arguments)
    assert status == 1 and "Traceback" not in err
    said = r"error: update [123]: the loss or its gradient: not finite; .*/ckpt-0"
    assert re.fullmatch(said, err.splitlines()[-1])
    assert "update " not in out and not (tmp_path / "metrics.jsonl").exists()
    assert [path.name for path in tmp_path.glob("checkpoints/*/*.index")] == ["ckpt-0.index"]
    assert not is_done(tmp_path)
