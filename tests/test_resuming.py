"""Runs that are stopped or killed, in processes of their own, and go on."""

import json
import os
import random
import re
import signal
import time

import pytest

from tests.program import LIMIT, assert_same_end, command, run, succeed, wait_until

LONG = [
    *("--config.train.num_updates=240", "--config.train.evaluate_every_updates=60"),
    *("--config.train.checkpoint_every_updates=30", "--config.train.ema_decay=0.9"),
    *("--config.train.log_every_updates=6", "--config.train.clip_norm=1.0"),
    "--config.model.num_steps=1",  # a second step would be traced for nothing
]
SHORT = [*LONG, "--config.train.num_updates=60"]


def is_done(workdir):
    return (workdir / "results.json").exists()


@pytest.fixture(scope="module")
def uninterrupted(small_babi_h5, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("uninterrupted") / "run"
    succeed(command(small_babi_h5, *LONG, "--workdir", workdir))
    return workdir


@pytest.mark.slow
@pytest.mark.timeout(5 * LIMIT)
def test_stopped_and_killed_runs_resume_to_the_same_bits(
    uninterrupted, small_babi_h5, start_program, tmp_path
):
    """Until the first is stopped, a second process in its folder is refused."""
    arguments, update = command(small_babi_h5, *LONG, "--workdir", tmp_path), 0
    kill = signal.SIGKILL, -signal.SIGKILL
    stops = [(signal.SIGINT, 0), kill, (signal.SIGTERM, 143)]
    for number, expected in stops:
        program = start_program(arguments)
        assert program.first_update() > update  # of the last stop, which has saved
        if number == signal.SIGINT:
            assert_refused(arguments, tmp_path, program)
        if number == signal.SIGKILL:
            time.sleep(random.uniform(0.0, 0.5))
        os.kill(program.pid, number)
        status, out, err = program.finish()
        assert status == expected, err
        assert not is_done(tmp_path) and "Traceback" not in err
        if number != signal.SIGKILL:
            last = out.splitlines()[-1]
            assert last.startswith("Stopped at update ") and "the same command resumes" in last
            update = int(last.split()[3].rstrip(";"))
            assert (tmp_path / "checkpoints" / "last" / f"ckpt-{update}.index").exists()
    out = succeed(arguments)
    assert update < int(out.split()[1].split("/")[0]) < 240
    assert_same_end(tmp_path, uninterrupted)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(seconds)  # each part goes on where the one before it stopped


def assert_refused(arguments, workdir, owner):
    """A process that starts while `owner` trains in its folder ends, and changes nothing there."""
    os.kill(owner.pid, signal.SIGSTOP)
    before = os.listdir(workdir)
    status, _, err = run(arguments)
    assert status == 1 and before == os.listdir(workdir)
    assert err.startswith(f"error: --workdir={workdir}: process {owner.pid} of ")
    os.kill(owner.pid, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_devices_that_do_not_wait_go_on_after_a_kill(small_babi_h5, start_program, tmp_path):
    flags = *SHORT, "--config.train.checkpoint_every_updates=6", "--nosync", "--workdir", tmp_path
    arguments = command(small_babi_h5, *flags, devices="cpu:2")
    program = start_program(arguments)
    wait_until(lambda: list(tmp_path.glob("checkpoints/last/ckpt-[1-9]*.index")))
    program.kill()
    assert not is_done(tmp_path)
    out = succeed(arguments)
    first = int(re.search(r"^update (\d+)/", out, re.MULTILINE)[1])
    assert first > 6 and "update 60/60" in out and is_done(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    assert [line["update"] for line in training] == list(range(6, 61, 6))
    for line in training:
        assert len(line["staleness_counts"]) == 5 and sum(line["staleness_counts"]) == 6
        assert 0 <= line["staleness"] <= line["staleness_max"]
