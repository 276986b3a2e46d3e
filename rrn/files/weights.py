"""A model's variables, saved as a weights file and set from one; see `rrn.files.weights_file`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrn.files.weights_file import Weights, read_weights, write_weights
from rrn.variables.reading import Variable, module_variables, read


def model_variables(task: Any) -> list[Variable]:
    """Lists a task's trainable variables, whole: its encoder's, then its network's.

    Args:
      task: an object with the modules `encoder` and `network`.
    """
    return [*module_variables(task.encoder), *module_variables(task.network)]


def save_weights(
    path: str | Path,
    variables: Sequence[Variable],
    attributes: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> None:
    """Writes the values of float32 variables, whole or in shards, to a weights file.

    Args:
      attributes: numbers, strings and dicts (of what JSON takes) that describe the model.
      constants: name -> numbers or words; see `Weights`.

    Raises:
      ValueError: a value is not finite, or no float32; the message names the variable.
    """
    arrays = {_name(variable): read(variable).numpy() for variable in variables}
    write_weights(Weights(str(path), arrays, dict(constants or {}), dict(attributes or {})))


def load_weights(
    path: str | Path, variables: Sequence[Variable], optional: Sequence[Variable] = ()
) -> list[str]:
    """Sets variables, whole or in shards, to the values of a file; see `assign_weights`."""
    return assign_weights(read_weights(path), variables, optional)


def assign_weights(
    weights: Weights, variables: Sequence[Variable], optional: Sequence[Variable] = ()
) -> list[str]:
    """Sets variables to a file's values.

    Args:
      optional: those of them that the file may lack; they keep their values then.

    Returns:
      The names of the variables that the file lacks.

    Raises:
      ValueError: names or shapes differ; the message lists all differences. None has changed then.
    """
    wanted = {_name(variable): tuple(variable.shape) for variable in variables}
    found = {name: array.shape for name, array in weights.arrays.items()}
    lacking = [name for name in map(_name, optional) if name not in found]
    wanted = {name: shape for name, shape in wanted.items() if name not in lacking}
    if wanted != found:
        differences = "".join(
            f"\n  {name}: the model has {wanted.get(name, 'no such variable')}, "
            f"the file {found.get(name, 'no such data set')}"
            for name in sorted(wanted.keys() | found.keys())
            if wanted.get(name) != found.get(name)
        )
        raise ValueError(f"{weights.path}: not this model's weights:{differences}")
    for variable in variables:
        if _name(variable) in found:
            variable.assign(weights.arrays[_name(variable)])
    return lacking


def _name(variable):
    return variable.name.removesuffix(":0")
