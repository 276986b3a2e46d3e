"""The program in processes of its own, on small bAbI, and what a run leaves."""

import contextlib
import json
import multiprocessing
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf

import rrn.training.train  # noqa: F401 for the forks
from rrn.distribute.cluster import STOPPING
from tests.helpers import ROOT

SMALL = [
    *("--config.model.hidden_size=16", "--config.model.encoding_size=6"),
    *("--config.model.num_steps=2", "--config.model.num_parts=1", "--config.model.max_facts=6"),
]
LIMIT = 400  # seconds for one process: 15 where nothing else runs, beside others more than 120
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # as main.py does before it loads TensorFlow
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


def command(path, *arguments, devices="cpu:1"):
    """The command line for small bAbI."""
    return [
        *("main.py", "--config=configs/babi.py:test", f"--config.data.path={path}"),
        *(f"--devices={devices}", *SMALL, *map(str, arguments)),
    ]


def hear_signals():
    """Undoes in a new process what nohup and a shell's background do: they ignore signals."""
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


class Run:
    """The program in a process of its own, and with it all that it starts: they have a session.

    The process is a fork of one that has imported TensorFlow, and done nothing else with it: that
    saves each one the three seconds of the import.
    """

    def __init__(self, words, **environment):
        self._files = [os.memfd_create("out"), os.memfd_create("err")]
        files = [f"/proc/{os.getpid()}/fd/{file}" for file in self._files]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment}
        self.process = FORKS.Process(target=become, args=(words, *files, environment))
        self.process.start()
        self.pid = self.process.pid

    def output(self):
        return os.pread(self._files[0], 1 << 20, 0).decode()

    def errors(self):
        return os.pread(self._files[1], 1 << 20, 0).decode()

    def wait_for(self, pattern):
        """The match of `pattern` in the output, once it is there."""
        wait_until(lambda: re.search(pattern, self.output(), re.MULTILINE) or self.has_ended())
        found = re.search(pattern, self.output(), re.MULTILINE)
        assert found, f"no {pattern}: {self.output()}{self.errors()}"
        return found

    def has_ended(self):
        return not self.process.is_alive()

    def first_update(self):
        """The update of its first line, once it trains."""
        return int(self.wait_for(r"^update (\d+)/")[1])

    def living(self):
        """Ids of the processes of its session."""
        living = []
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                state, _, _, session = file.read_text().rsplit(")", 1)[1].split()[:4]
                if int(session) == self.pid and state != "Z":
                    living.append(int(file.parent.name))
        return living

    def finish(self):
        """(exit status, standard output, errors); no process is left."""
        try:
            wait_until(self.has_ended)
            wait_until(lambda: not self.living(), 60)  # one may still be importing TensorFlow
            return self.process.exitcode, self.output(), self.errors()
        finally:
            self.kill()

    def kill(self):
        self.process.kill()
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.join()


def become(words, out, err, environment):
    """Makes a new process that of a command line, as if it were started with `python`."""
    os.setsid()
    for number in STOPPING:  # which the one that it is a fork of may ignore
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in (1, out), (2, err):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ |= environment
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


def wait_until(condition, limit=LIMIT):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit} seconds"
        time.sleep(0.05)


def run(words):
    return Run(words).finish()


def run_anew(words, **environment):
    """As `run`, in a new Python, for what happens before or while TensorFlow loads."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        preexec_fn=hear_signals,
    )
    return done.returncode, done.stdout, done.stderr


def succeed(words):
    status, out, err = run(words)
    assert status == 0, err
    assert "functional_saver" not in err  # nor other notes of TensorFlow's
    return out


def read_json(path):
    return json.loads(path.read_text())


def state(folder):
    """The arrays of a checkpoint by name; how often it was saved is no part of training's state."""
    reader = tf.train.load_checkpoint(str(folder))
    names = reader.get_variable_to_shape_map()
    return {name: reader.get_tensor(name) for name in names if "save_counter" not in name}


def assert_same_end(ours, theirs):
    """The same weights, states and metrics, bit for bit."""
    with h5py.File(ours / "weights.h5") as a, h5py.File(theirs / "weights.h5") as b:
        assert dict(a.attrs) == dict(b.attrs)
        names = []
        a.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 10
        for name in names:
            np.testing.assert_array_equal(a[name][()], b[name][()], err_msg=name)
    a, b = (state(workdir / "checkpoints" / "last") for workdir in (ours, theirs))
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    a, b = (read_json(workdir / "results.json") for workdir in (ours, theirs))
    assert a.pop("made")["update"] == b.pop("made")["update"]
    assert a == b
    lines = [
        [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]
        for workdir in (ours, theirs)
    ]
    validation = [
        [(line["update"], line["mean_loss"]) for line in part if "split" in line] for part in lines
    ]
    assert validation[0] == validation[1]
    updates = [line["update"] for line in lines[0]]
    assert updates == sorted(updates)
