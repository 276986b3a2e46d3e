"""Kills runs at random moments: `python -m tests.kills --kills 100 --seed 1`.

A run on small bAbI is killed with kill -9 again and again, and started again with its command:
while it starts, trains, validates, writes checkpoints, weights or its report. Each start must go on
from the newest checkpoint, and the end must be that of a run that nobody has killed, bit for bit:
weights, states and results. With `--cluster` the chief, a worker or a server is killed. With
`--signals` three of four runs get SIGINT, SIGTERM or SIGHUP instead, alone or with all processes
that they have started, and must save what they have trained. With `--prepare` it is `data_prep`,
which writes over an earlier file: there must be this or the new one.
"""

import argparse
import collections
import contextlib
import json
import multiprocessing
import os
import random
import re
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
import tensorflow as tf

import rrn.training.train  # noqa: F401 for the forks
from rrn.data_prep import hdf5
from rrn.data_prep.__main__ import main as data_prep
from rrn.files.weights_file import read_weights
from tests.helpers import ROOT, write_babi_texts

LIMIT = 600  # seconds for a run that nobody kills
LINES = 16  # after which of a run's lines it is killed, at most
UPDATES, VALIDATION, CHECKPOINT = 60, 20, 4
FLAGS = [
    *("--config=configs/babi.py:test", "--config.model.hidden_size=16"),
    *("--config.model.encoding_size=6", "--config.model.num_steps=1"),
    *("--config.model.num_parts=1", "--config.model.max_facts=6"),
    f"--config.train.num_updates={UPDATES}",
    f"--config.train.evaluate_every_updates={VALIDATION}",
    *(f"--config.train.checkpoint_every_updates={CHECKPOINT}", "--config.train.ema_decay=0.9"),
    "--config.train.log_every_updates=2",
]
CLUSTER = [
    *("--local_cluster=ps=2,worker=2", "--config.variables.policy=balanced"),
    "--startup_timeout=30",
]
END = "runs to their end"
STOPPING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def start(words: list, log: Path) -> multiprocessing.Process:
    """Starts a command in a session of its own, which writes to the file `log`.

    It is a fork of this process, which has imported TensorFlow and done nothing else with it, so
    that a start is fast.
    """

    def run():
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        os.chdir(ROOT)
        sys.argv = [str(word) for word in words]
        if words[0] == "main.py":
            runpy.run_path(words[0], run_name="__main__")
        elif words[0] == "sudoku":
            runpy.run_module("rrn.tasks.sudoku", run_name="__main__", alter_sys=True)
        else:
            sys.exit(data_prep(sys.argv[1:]))

    process = multiprocessing.get_context("fork").Process(target=run)
    with log.open("w") as out:
        process.start()
    return process


def wait(process: multiprocessing.Process, seconds: float) -> int | None:
    """The exit status, negative for a signal; None if the process takes longer."""
    process.join(seconds)
    return process.exitcode


def _saved(workdir):
    """The update of the newest whole checkpoint, 0 if there is none."""
    files = (workdir / "checkpoints" / "last").glob("ckpt-*.index")
    return max((int(path.stem[5:]) for path in files if path.stem[5:].isdecimal()), default=0)


def state(workdir: Path) -> dict[str, np.ndarray]:
    """All of a run that must not depend on kills, by name."""
    results = json.loads((workdir / "results.json").read_text())
    del results["made"]  # when, and how fast
    found = {"results": np.array(json.dumps(results))}
    weights = read_weights(workdir / "weights.h5")
    found |= {**weights.arrays, "update": np.array(weights.attributes["update"])}
    reader = tf.train.load_checkpoint(str(workdir / "checkpoints" / "last"))
    names = [n for n in reader.get_variable_to_shape_map() if "save_counter" not in n]
    found |= {f"last/{name}": reader.get_tensor(name) for name in names}
    return found


def differences(expected: dict[str, np.ndarray], workdir: Path) -> list[str]:
    """Where the run in a folder differs from the expected state, a line each."""
    found = state(workdir)
    return [
        f"{workdir.name}: {name} differs"
        for name in sorted(found.keys() | expected.keys())
        if not np.array_equal(found.get(name), expected.get(name))
    ]


def _phase(text, before):
    """What a run that began with the update `before` was doing when its output ended."""
    lines = [line for line in text.splitlines() if line.strip() and line[:6] != "error:"]
    last = lines[-1] if lines else ""
    if last.startswith("Stopped at update"):
        return "training, saved"
    if re.match(r"update \d+  validation", last):
        return "after a validation: weights"
    if match := re.match(r"update (\d+)/", last):
        update = int(match[1])
        if update % VALIDATION == 0:
            return "validation"
        return "checkpoint" if update % CHECKPOINT == 0 else "training"
    if before == UPDATES or any(line.startswith("update ") for line in lines):
        return "evaluation and report"
    return "start"


def _victim(process, text, rng):
    """The id of the process that is killed: the run's, or one of its cluster."""
    members = [int(pid) for pid in re.findall(r"^\w+ \d+  \S+  process (\d+)$", text, re.MULTILINE)]
    return rng.choice(members or [process.pid])


def kill_runs(
    kills: int, minutes: float, seed: int, cluster: bool, signals: bool
) -> tuple[dict, list[str]]:
    """Kills runs until so many kills are done or the time is over, and lets the last one end.

    Args:
      kills: how many kills.
      minutes: the time.
      seed: of the moments and of who is killed.
      cluster: whether the run is a cluster of two workers and two servers.
      signals: whether runs get other signals, too.

    Returns:
      What the runs were doing -> kills; what has gone wrong, a line each.
    """
    rng, phases, wrong = random.Random(seed), collections.Counter(), []
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        write_babi_texts(folder)
        data, log = folder / "babi.h5", folder / "log"
        data_prep(["babi", "--source", str(folder), "--tasks", "1,2,3", "--out", str(data)])
        words = ["main.py", *FLAGS, f"--config.data.path={data}", *(CLUSTER if cluster else [])]
        words += [] if cluster else ["--devices=cpu:1"]
        began = time.monotonic()
        whole = folder / "whole"
        assert wait(start([*words, "--workdir", whole], log), LIMIT) == 0, log.read_text()
        seconds, expected = time.monotonic() - began, state(whole)
        print(f"a run that nobody kills: {seconds:.0f} s", flush=True)
        runs, workdir = 0, None
        while (done := phases.total() - phases[END]) < kills or workdir:
            if workdir is None:
                runs, workdir = runs + 1, folder / f"run{runs}"
            before, last = _saved(workdir), done >= kills or time.monotonic() > end
            process = start([*words, "--workdir", workdir], log)
            number = rng.choice([signal.SIGKILL, *STOPPING]) if signals else signal.SIGKILL
            found = _kill(process, log, rng, LIMIT if last else seconds / 2, last, number)
            text = log.read_text()
            stopped = re.search(r"^Stopped at update (\d+);", text, re.MULTILINE)
            if stopped and int(stopped[1]) != _saved(workdir):
                wrong.append(f"kill {done}: update {stopped[1]} is not saved")
            first = re.search(r"^update (\d+)/", text, re.MULTILINE)
            if first and int(first[1]) <= before:
                wrong.append(f"kill {done}: began at {first[1]}, update {before} was saved")
            if "Traceback" in text or _saved(workdir) < before:
                wrong.append(f"kill {done}: {text[-2000:]}")
            if found == "killed":
                phases[f"{number.name} {_phase(text, before)}"] += 1
                print(f"{done + 1} kills, update {_saved(workdir)} is saved", flush=True)
                continue
            if found == END:
                phases[END] += 1
                wrong += differences(expected, workdir)
            else:
                wrong.append(f"kill {done}: {found}: {text[-2000:]}")
            workdir = None
            if last:
                break
    return dict(phases), wrong


def _kill(process, log, rng, seconds, last, number):
    """Kills a run at a random moment: after some time, or shortly after some line of its output.

    Args:
      process: the run.
      log: the file of its output.
      rng: draws the moment and, in a cluster, who is killed.
      seconds: the longest that it waits before it kills.
      last: whether nobody is killed.
      number: the signal.

    Returns:
      "killed", `END`, or what has failed.
    """
    lines, pause = 0, rng.uniform(0, seconds)
    if rng.random() < 0.75:
        lines, pause = rng.randrange(1, LINES), rng.uniform(0, 0.5)
    end = time.monotonic() + LIMIT
    while (last or log.read_bytes().count(b"\n") < lines) and time.monotonic() < end:
        if not process.is_alive():
            break
        time.sleep(0.02)
    if wait(process, pause) is None:
        if number == signal.SIGKILL:
            os.kill(_victim(process, log.read_text(), rng), number)
        else:
            with contextlib.suppress(ProcessLookupError):  # no session of its own yet
                rng.choice([os.kill, os.killpg])(process.pid, number)
    elif process.exitcode == 0:
        return END
    status = wait(process, LIMIT)  # a chief notices within a minute that a process is lost
    if status is None:
        os.killpg(process.pid, signal.SIGKILL)
        return f"still there after {LIMIT} seconds"
    time.sleep(0.5)  # the rest of a cluster ends with its chief
    text, words = log.read_text(), "lost .* goes on|.* ended before|interrupted"
    said = re.search(f"^error: ({words})", text, re.MULTILINE)
    right = status in (0, -number, 128 + number) or (status == 1 and said)
    return "killed" if right else f"exit status {status}"


def kill_data_prep(kills: int, minutes: float, seed: int) -> tuple[dict, list[str]]:
    """Kills `data_prep ages`, as `kill_runs` does; it writes over an earlier file."""
    rng, phases, wrong = random.Random(seed), collections.Counter(), []
    end, seeds = time.monotonic() + 60 * minutes, (0, 1)
    with tempfile.TemporaryDirectory() as top:
        out, log, right = Path(top, "ages.h5"), Path(top, "log"), []
        words = ["data_prep", "ages", "--out", out, "--seed"]
        for number in seeds:
            began = time.monotonic()
            assert wait(start([*words, number], log), LIMIT) == 0
            right.append(hdf5.read(out).digest)
        seconds = time.monotonic() - began
        for done in range(kills):
            if time.monotonic() > end:
                break
            before = hdf5.read(out).digest
            process = start([*words, done % 2], log)
            ended = wait(process, rng.uniform(0, 1.1) * seconds) is not None
            phases["ended" if ended else "killed"] += 1
            process.kill()
            process.join()
            if hdf5.read(out).digest not in (before, right[done % 2]):
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
    found.add_argument("--signals", action="store_true", help="SIGINT, SIGTERM and SIGHUP, too")
    who.add_argument("--prepare", action="store_true", help="kill data_prep")
    return found


def main() -> int:
    options = parser().parse_args()
    if options.prepare:
        phases, wrong = kill_data_prep(options.kills, options.minutes, options.seed)
    else:
        who = options.cluster, options.signals
        phases, wrong = kill_runs(options.kills, options.minutes, options.seed, *who)
    print(*(f"{phase}: {count}" for phase, count in sorted(phases.items())), sep="\n")
    print(*wrong, f"{len(wrong)} things went wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
