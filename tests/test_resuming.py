"""Runs that are stopped or killed, in processes of their own, and go on."""

import json
import os
import random
import signal
import time

import pytest

from tests.program import LIMIT, assert_same_end, command, run, succeed

LONG = [
    *("--config.train.num_updates=240", "--config.train.evaluate_every_updates=60"),
    *("--config.train.checkpoint_every_updates=30", "--config.train.ema_decay=0.9"),
    *("--config.train.log_every_updates=6", "--config.train.clip_norm=1.0"),
    "--config.model.num_steps=1",  # a second step would be traced for nothing
]


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
    stops = [(signal.SIGTERM, 143), kill]
    for number, expected in stops:
        program = start_program(arguments)
        assert program.first_update() > update  # of the last stop, which has saved
        if number == signal.SIGTERM:
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
