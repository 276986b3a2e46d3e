"""Whole trainings whose fields have values that they take: the smallest, the largest, odd ones.

An input is the words of a command line as JSON. The run must end whole, or in one error line.
"""

import functools
import json
import math
import shutil
import typing

from hypothesis import strategies as st

from rrn import config
from rrn.files.weights_file import read_weights
from rrn.tasks import find_task
from tests.fuzz.attempts import Change, Kind
from tests.fuzz.commands import judge
from tests.fuzz.contents import write_babi, write_sudoku
from tests.program import run

SMALL = 3  # numbers of things, sizes and batches are at most so much above their least
UPDATES = 3
LIMITS = "ge", "le", "lt"
PARTS = {
    "train": (config.Train, config.Stage, config.Objective),
    "train.optimizer": (config.Muon,),
    "evaluate": (config.Evaluate,),
    "variables": (config.Variables,),
}


def values(field):
    """Values at the limits of a field, small where a larger one would only take longer."""
    if field.annotation is bool:
        return [True, False]
    if typing.get_origin(field.annotation) is typing.Literal:
        return list(typing.get_args(field.annotation))
    limits = {name: getattr(m, name) for m in field.metadata for name in LIMITS if hasattr(m, name)}
    least = limits.get("ge")
    if field.annotation is int:
        return range(least, least + SMALL + 1)
    if field.annotation is float:
        most = limits["le"] if "le" in limits else math.nextafter(limits["lt"], 0)
        return [least, math.nextafter(least, most), 1e-30, 0.5, most]
    return []


def _set(chosen):
    def apply(path):
        flags = [f"--config.{name}={value}" for name, value in chosen.items()]
        path.write_text(json.dumps([*json.loads(path.read_text()), *flags]))

    names = [name.rpartition(".")[2] for name in chosen]
    return Change(apply, (*names, "not finite"), wrong=False, words=str(chosen))


def _changes(task):
    """A few fields of a config of the task have other values."""
    parts = {**PARTS, "model": (find_task(task).Model,)}
    pairs = [
        (f"{part}.{name}", value)
        for part, classes in parts.items()
        for cls in classes
        for name, field in cls.model_fields.items()
        for value in values(field)
    ]
    few = st.lists(st.sampled_from(pairs), min_size=3, max_size=6)
    return few.map(lambda chosen: _set(dict(chosen)))


def _write(task, write_data, path):
    data = path.parent / "out" / "data.h5"
    data.parent.mkdir()
    write_data(data)
    words = [f"--config=configs/{task}.py:test", f"--config.data.path={data}", "--devices=cpu:2"]
    words += ["--config.model.hidden_size=4", "--config.model.num_steps=2"]
    words += [f"--config.train.num_updates={UPDATES}", "--config.train.batch_size=4"]
    words += ["--config.train.optimizer=muon"]
    path.write_text(json.dumps(words))


def _train(path):
    """Trains and evaluates; what the run wrote must be whole."""
    workdir = path.parent / "out" / "run"
    shutil.rmtree(workdir, ignore_errors=True)
    words = json.loads(path.read_text())
    status, _, said = run(["main.py", f"--workdir={workdir}", *words])
    judge(status, said)
    read_weights(workdir / "weights.h5")
    json.loads((workdir / "results.json").read_text())
    return True


KINDS = {
    f"{task}'s trainings": Kind(
        "main.json",
        functools.partial(_write, task, write_data),
        _train,
        _changes(task),
        share=0.05,
    )
    for task, write_data in (("babi", write_babi), ("sudoku", write_sudoku))
}
