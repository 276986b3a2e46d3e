"""A run that is killed, in a process of its own, and resumes."""

import json
import os
import random
import signal
import time

import pytest

from tests.program import LIMIT, assert_same_end, command, succeed

LONG = [
    *("--config.train.num_updates=240", "--config.train.evaluate_every_updates=60"),
    *("--config.train.checkpoint_every_updates=30", "--config.train.ema_decay=0.9"),
    *("--config.train.log_every_updates=6", "--config.train.clip_norm=1.0"),
    "--config.model.num_steps=1",  # a second step would be traced for nothing
]


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_a_killed_run_resumes_to_the_same_bits(small_babi_h5, start_program, tmp_path):
    workdir, uninterrupted = tmp_path / "run", tmp_path / "uninterrupted"
    succeed(command(small_babi_h5, *LONG, "--workdir", uninterrupted))
    arguments = command(small_babi_h5, *LONG, "--workdir", workdir)
    program = start_program(arguments)
    program.wait_for("^update 36/")  # there is a checkpoint
    time.sleep(random.uniform(0.0, 0.5))
    os.kill(program.pid, signal.SIGKILL)
    status, _, err = program.finish()
    assert status == -signal.SIGKILL, err
    assert not (workdir / "results.json").exists() and "Traceback" not in err
    out = succeed(arguments)
    assert 30 < int(out.split()[1].split("/")[0]) < 240
    assert_same_end(workdir, uninterrupted)
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(seconds)  # each part resumes where the one before it stopped
