"""Kills runs at random moments: `python -m tests.kills --kills 100 --seed 1`.

A run on small bAbI is killed again and again, and started again with its command. Each start must
resume from the newest checkpoint, and the end must be bitwise that of a run that nobody has killed:
weights, states and results. With `--cluster` the chief, a worker or a server is killed. With
`--signals` most runs get SIGINT, SIGTERM or SIGHUP, and must save what they have trained.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from rrn.data_prep.__main__ import main as data_prep
from tests.helpers import write_babi_texts
from tests.program import SMALL, STOPPING, Run, assert_same_end

UPDATES = 60
FLAGS = [
    *("--config=configs/babi.py:test", *SMALL, f"--config.train.num_updates={UPDATES}"),
    *("--config.train.evaluate_every_updates=20", "--config.train.checkpoint_every_updates=4"),
    *("--config.train.ema_decay=0.9", "--config.train.log_every_updates=2"),
]
CLUSTER = ["--local_cluster=ps=2,worker=2", "--config.variables.policy=balanced"]


def saved(workdir: Path) -> int:
    """The update of the newest checkpoint, 0 without one."""
    names = [path.stem[5:] for path in (workdir / "checkpoints").rglob("ckpt-*.index")]
    return max((int(name) for name in names if name.isdecimal()), default=0)


def kill(run: Run, rng: random.Random, number: int, seconds: float) -> None:
    """Sends a signal after some time, or shortly after some line of the output."""
    lines, pause = 0, rng.uniform(0, seconds)
    if rng.random() < 0.75:
        lines, pause = rng.randrange(1, 16), rng.uniform(0, 0.5)
    while run.output().count("\n") < lines and not run.has_ended():
        time.sleep(0.02)
    run.process.join(pause)
    members = re.findall(r"^\w+ \d+  \S+  process (\d+)$", run.output(), re.MULTILINE)
    victim = rng.choice([int(pid) for pid in members] or [run.pid])
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim if number == signal.SIGKILL else run.pid, number)


def kill_runs(kills: int, seed: int, flags: list[str], signals: bool) -> list[str]:
    """Kills runs, and lets the last one end; returns what has gone wrong, a line each."""
    rng, wrong, done = random.Random(seed), [], 0
    with tempfile.TemporaryDirectory() as top:
        folder, data = Path(top), Path(top, "babi.h5")
        write_babi_texts(folder)
        data_prep(["babi", "--source", top, "--tasks", "1,2,3", "--out", str(data)])
        words = ["main.py", *FLAGS, f"--config.data.path={data}", *flags]
        began = time.monotonic()
        status, _, errors = Run([*words, f"--workdir={folder / 'whole'}"]).finish()
        assert status == 0, errors
        seconds, workdir = time.monotonic() - began, None
        while done < kills or workdir:
            workdir = workdir or folder / f"run{done}"
            before, run = saved(workdir), Run([*words, f"--workdir={workdir}"])
            number = rng.choice([signal.SIGKILL, *STOPPING]) if signals else signal.SIGKILL
            if done < kills:
                kill(run, rng, number, seconds / 2)
            status, out, errors = run.finish()
            update = re.search(r"^update (\d+)/", out, re.MULTILINE)
            stopped = re.search(r"^Stopped at update (\d+);", out, re.MULTILINE)
            if update and int(update[1]) <= before:
                wrong.append(f"kill {done}: began at {update[1]}, update {before} was saved")
            if stopped and int(stopped[1]) != saved(workdir):
                wrong.append(f"kill {done}: update {stopped[1]} is not saved")
            named = status == 1 and errors.startswith("error: ")
            if "Traceback" in errors or not (status in (0, -number, 128 + number) or named):
                wrong.append(f"kill {done}: status {status}: {errors[-2000:]}")
            if status == 0 and not stopped:
                try:
                    assert_same_end(folder / "whole", workdir)
                except AssertionError as error:
                    wrong.append(f"kill {done}: the end differs: {error}")
                workdir = None
            elif done > kills:
                return [*wrong, f"kill {done}: the last run did not end"]
            done += 1
            print(f"{done} starts, update {saved(workdir) if workdir else UPDATES}", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cluster", action="store_true", help="kill processes of a cluster")
    parser.add_argument("--signals", action="store_true", help="SIGINT, SIGTERM and SIGHUP, too")
    options = parser.parse_args()
    flags = CLUSTER if options.cluster else ["--devices=cpu:1"]
    wrong = kill_runs(options.kills, options.seed, flags, options.signals)
    print(*wrong, f"{len(wrong)} things went wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
