"""Models as their weights files hold them: made again without config or data, and shown."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.config import ModelSettings
from rrn.files.data import PreparedData
from rrn.files.weights import Weights, assign_weights, model_variables, read_weights
from rrn.settings import create
from rrn.tasks import check_schema, create_task, find_task, task_names
from rrn.tasks.task import Task
from rrn.variables.reading import module_variables


def load(weights: str | Path | Weights, **fields: Any) -> Task:
    """Makes the model of a run's weights file, or of one of `pretrained/`, with these weights.

    Args:
      fields: the model's fields that are to differ from the file's, as `compute_dtype="float32"`.

    Returns:
      The task. `predict` answers (`inputs` says what it takes), `network` and `encoder` are its
      modules, `config` has its fields and `constants` its vocabulary; see `rrn.tasks.task.Task`.

    Raises:
      ValueError: no such file, it is damaged, or it does not say what model it is of.
    """
    if not isinstance(weights, Weights):
        weights = read_weights(weights)
    with naming(weights.path):
        task = create_task(saved_model(weights, fields), saved_data(weights))
    assign_weights(weights, model_variables(task), task.training_only())
    return task


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Within it, an error of a model is a ValueError that names the model's file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error


def describe(model: ModelSettings, data: PreparedData) -> dict[str, Any]:
    """Collects the attributes "task", "model" and "data", by which `load` makes a model again."""
    return {
        "task": model.TASK,
        "model": model.model_dump(),
        "data": {"file": Path(data.path).name, "digest": data.digest, **data.attributes},
    }


def saved_task(weights: Weights) -> str:
    """Returns the name of a weights file's task; raises ValueError if it is of no run."""
    task, known = weights.attributes.get("task"), task_names()
    if task not in known:
        raise ValueError(
            f"{weights.path}: attribute task: expected one of {', '.join(known)}, as in a run's "
            f"file, got {task!r}"
        )
    if lacking := {"model", "data"} - weights.attributes.keys():
        raise ValueError(f"{weights.path}: no attribute {', '.join(sorted(lacking))}")
    return task


def saved_model(weights: Weights, changed: Mapping[str, Any]) -> ModelSettings:
    """Returns the settings of a weights file's model, with some fields changed."""
    known = find_task(saved_task(weights)).Model
    for name in changed:
        if name not in known.model_fields:
            names = ", ".join(known.model_fields)
            raise ValueError(f"{weights.path}: its model has no field {name}; fields are {names}")
    return create(known, {**weights.attributes["model"], **changed}, "model")


def saved_data(weights: Weights) -> PreparedData:
    """Returns what a weights file holds of its model's training data: constants, no splits."""
    about = weights.attributes["data"]
    check_schema(saved_task(weights), weights.path, about)
    return PreparedData(weights.path, about, weights.constants, {})


def summary(module: tf.Module) -> str:
    """Tabulates the variables of a module or a `Task`, their shapes and numbers of parameters."""
    variables = model_variables(module) if isinstance(module, Task) else module_variables(module)
    rows: list[tuple[str, object, int]] = [
        (v.name.removesuffix(":0"), list(v.shape), v.shape.num_elements()) for v in variables
    ]
    rows.append((f"{len(rows)} variables of {type(module).__name__}", "", sum(r[2] for r in rows)))
    width = max(len(name) for name, _, _ in rows)
    return "\n".join(f"{name:<{width}}  {shape!s:<16}{count:>12,}" for name, shape, count in rows)
