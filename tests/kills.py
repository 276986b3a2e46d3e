"""Kills runs at random moments: `python -m tests.kills --kills 100 --seed 1`.

A run on small bAbI is killed with kill -9 again and again, and started again with its command:
while it starts, trains, validates, writes checkpoints, weights or its report. Each start must go on
from the newest checkpoint, and the end must be that of a run that nobody has killed, bit for bit:
weights, states and results. With `--cluster` the chief, a worker or a server is killed. With
`--prepare` it is `data_prep`, which writes over an earlier file: there must be this or the new one.
"""

import argparse
import collections
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from data_prep import hdf5
from data_prep.__main__ import main as data_prep
from rrn.weights import read_weights
from tests.helpers import ROOT, write_babi_texts

LIMIT = 300  # seconds for a run that nobody kills
UPDATES, CHECKPOINT = 240, 6
FLAGS = [
    *("--config=configs/babi.py:test", "--config.model.hidden_size=16"),
    *("--config.model.encoding_size=6", "--config.model.num_steps=2"),
    *("--config.model.num_parts=1", "--config.model.max_facts=6"),
    *(f"--config.train.num_updates={UPDATES}", "--config.train.evaluate_every_updates=24"),
    *(f"--config.train.checkpoint_every_updates={CHECKPOINT}", "--config.train.average_decay=0.9"),
    "--config.train.log_every_updates=3",
]
CLUSTER = ["--local_cluster=ps=2,worker=2", "--config.variables.policy=balanced"]


def _start(arguments, log):
    """Starts a process in a session of its own, which writes to the file `log`."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    with log.open("w") as out:
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _saved(workdir):
    """The update of the newest whole checkpoint, 0 if there is none."""
    files = (workdir / "checkpoints" / "last").glob("ckpt-*.index")
    return max((int(path.stem[5:]) for path in files if path.stem[5:].isdecimal()), default=0)


def state(workdir: Path) -> dict[str, np.ndarray]:
    """All of a run that must not depend on kills, by name."""
    found = {"results": np.array((workdir / "results.json").read_text())}
    weights = read_weights(workdir / "weights.h5")
    found |= {**weights.arrays, "update": np.array(weights.attributes["update"])}
    for which in ("last", "best"):
        folder = workdir / "checkpoints" / which
        newest = max(folder.glob("ckpt-*.index"), key=lambda path: int(path.stem[5:]))
        reader = tf.train.load_checkpoint(str(newest.with_suffix("")))
        names = [n for n in reader.get_variable_to_shape_map() if "save_counter" not in n]
        found |= {f"{which}/{name}": reader.get_tensor(name) for name in names}
    return found


def differences(expected: dict[str, np.ndarray], workdir: Path) -> list[str]:
    """Where the run in a folder differs from the expected state, a line each."""
    found = state(workdir)
    return [
        f"{workdir.name}: {name} differs"
        for name in sorted(found.keys() | expected.keys())
        if not np.array_equal(found.get(name), expected.get(name))
    ]


def _phase(text):
    """What a run was doing when its output ended."""
    lines = [line for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if re.match(r"update \d+  validation", last):
        return "after a validation: weights and best state"
    if match := re.match(r"update (\d+)/", last):
        update = int(match[1])
        if update % 24 == 0:
            return "validation"
        return "checkpoint" if update % CHECKPOINT == 0 else "training"
    if any(line.startswith("update ") for line in lines):
        return "evaluation and report"
    return "start"


def _victim(process, text, rng):
    """The id of the process that is killed: the run's, or one of its cluster."""
    members = [int(pid) for pid in re.findall(r"^\w+ \d+  \S+  process (\d+)$", text, re.MULTILINE)]
    return rng.choice(members or [process.pid])


def kill_runs(kills: int, minutes: float, seed: int, cluster: bool) -> tuple[dict, list[str]]:
    """Kills runs until so many kills are done or the time is over, and lets the last one end.

    Args:
      kills: how many kills.
      minutes: the time.
      seed: of the moments and of who is killed.
      cluster: whether the run is a cluster of two workers and two servers.

    Returns:
      What the runs were doing -> kills; what has gone wrong, a line each.
    """
    rng, phases, wrong = random.Random(seed), collections.Counter(), []
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        write_babi_texts(folder)
        data = folder / "babi.h5"
        data_prep(["babi", "--source", str(folder), "--tasks", "1,2,3", "--out", str(data)])
        flags = ["main.py", *FLAGS, f"--config.data.path={data}", *(CLUSTER if cluster else [])]
        flags += [] if cluster else ["--devices=cpu:1"]
        began = time.monotonic()
        whole = folder / "whole"
        assert _start([*flags, "--workdir", whole], folder / "log").wait(LIMIT) == 0
        seconds, expected = time.monotonic() - began, state(whole)
        print(f"a run that nobody kills: {seconds:.0f} s", flush=True)
        number, workdir, done = 0, None, 0
        while done < kills and time.monotonic() < end:
            if workdir is None:
                number, workdir = number + 1, folder / f"run{number}"
            before = _saved(workdir)
            moment = rng.choice([rng.uniform(0, seconds), rng.uniform(0.5, 1) * seconds])
            found = _kill_once(flags, workdir, folder / "log", moment, rng)
            text = (folder / "log").read_text()
            first = re.search(r"^update (\d+)/", text, re.MULTILINE)
            if first and int(first[1]) <= before:
                wrong.append(f"kill {done}: began at {first[1]}, update {before} was saved")
            if "Traceback" in text or _saved(workdir) < before:
                wrong.append(f"kill {done}: {text[-2000:]}")
            if found == "killed":
                done += 1
                phases[_phase(text)] += 1
                print(f"{done} kills, update {_saved(workdir)} is saved", flush=True)
            elif found == "ended":
                wrong += differences(expected, workdir)
                phases["runs to their end"] += 1
                workdir = None
            else:
                wrong.append(f"kill {done}: {found}: {text[-2000:]}")
        if workdir is not None:
            if _start([*flags, "--workdir", workdir], folder / "log").wait(LIMIT):
                wrong.append(f"the last start failed: {(folder / 'log').read_text()[-2000:]}")
            else:
                wrong += differences(expected, workdir)
                phases["runs to their end"] += 1
    return dict(phases), wrong


def _kill_once(flags, workdir, log, moment, rng):
    """Starts a run and kills it after so many seconds: "killed", "ended", or what has failed."""
    process = _start([*flags, "--workdir", workdir], log)
    try:
        status = process.wait(moment)
        return "ended" if status == 0 else f"exit status {status}"
    except subprocess.TimeoutExpired:
        os.kill(_victim(process, log.read_text(), rng), signal.SIGKILL)
    try:
        status = process.wait(LIMIT)  # a chief notices within a minute that a process is lost
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"still there after {LIMIT} seconds"
    time.sleep(0.5)  # the rest of a cluster ends with its chief
    lost = status == 1 and "error: lost " in log.read_text()
    return "killed" if status == -signal.SIGKILL or lost or status == 0 else f"exit status {status}"


def kill_data_prep(kills: int, minutes: float, seed: int) -> tuple[dict, list[str]]:
    """Kills `data_prep ages`, as `kill_runs` does; it writes over an earlier file."""
    rng, phases, wrong = random.Random(seed), collections.Counter(), []
    end, seeds = time.monotonic() + 60 * minutes, (0, 1)
    with tempfile.TemporaryDirectory() as top:
        out, log, right = Path(top, "ages.h5"), Path(top, "log"), []
        command = ["-m", "data_prep", "ages", "--out", out, "--seed"]
        for number in seeds:
            began = time.monotonic()
            assert _start([*command, number], log).wait(LIMIT) == 0
            right.append(hdf5.verify(out))
        seconds = time.monotonic() - began
        for done in range(kills):
            if time.monotonic() > end:
                break
            before = hdf5.verify(out)
            process = _start([*command, done % 2], log)
            time.sleep(rng.uniform(0, 1.1) * seconds)
            phases["ended" if process.poll() is not None else "killed"] += 1
            process.kill()
            process.wait()
            if hdf5.verify(out) not in (before, right[done % 2]):
                wrong.append(f"kill {done}: {out.name} is another file")
    return dict(phases), wrong


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    found.add_argument("--kills", type=int, default=100)
    found.add_argument("--minutes", type=float, default=600.0)
    found.add_argument("--seed", type=int, default=0)
    who = found.add_mutually_exclusive_group()
    who.add_argument("--cluster", action="store_true", help="kill processes of a cluster")
    who.add_argument("--prepare", action="store_true", help="kill data_prep")
    return found


def main() -> int:
    options = parser().parse_args()
    if options.prepare:
        phases, wrong = kill_data_prep(options.kills, options.minutes, options.seed)
    else:
        phases, wrong = kill_runs(options.kills, options.minutes, options.seed, options.cluster)
    print(*(f"{phase}: {count}" for phase, count in sorted(phases.items())), sep="\n")
    print(*wrong, f"{len(wrong)} things went wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
