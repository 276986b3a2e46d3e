"""The program in processes of its own, on small bAbI, and what a run leaves."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import tensorflow as tf

from tests.helpers import ROOT

SMALL = [
    *("--config.model.hidden_size=16", "--config.model.encoding_size=6"),
    *("--config.model.num_steps=2", "--config.model.num_parts=1", "--config.model.max_facts=6"),
]
LIMIT = 240  # seconds for one process: 25 where nothing else runs, beside others more than 120


def command(path, *arguments, devices="cpu:1"):
    """The command line for small bAbI."""
    return [
        *(sys.executable, "main.py", "--config", "configs/babi.py:test"),
        *(f"--config.data.path={path}", f"--devices={devices}", *SMALL, *map(str, arguments)),
    ]


def hear_signals():
    """Undoes in a new process what nohup and a shell's background do: they ignore signals."""
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


def start(arguments, **environment):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment}
    return subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_signals,
    )


def finish(process):
    """(exit status, standard output, standard error); the process is gone afterwards."""
    try:
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err
    finally:
        process.kill()
        process.wait()


def run(arguments, **environment):
    return finish(start(arguments, **environment))


def succeed(arguments):
    status, out, err = run(arguments)
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
    for which in ("last", "best"):
        a, b = (state(workdir / "checkpoints" / which) for workdir in (ours, theirs))
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
