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
    """Writes the variables' values to a file, which appears whole or not at all.

    A file that exists is replaced.

    Args:
      variables: float32 variables, whole or in shards, with different names.
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
    """Sets the variables to the values of a file that `save_weights` has written.

    Args:
      variables: variables with the names and shapes of those in the file, whole or in shards.
      optional: those of them that the file may lack; they keep their values then.

    Returns:
      The names of the variables that the file lacks.

    Raises:
      ValueError: see `read_weights` and `assign_weights`. No variable has changed then.
    """
    return assign_weights(read_weights(path), variables, optional)


def assign_weights(
    weights: Weights, variables: Sequence[Variable], optional: Sequence[Variable] = ()
) -> list[str]:
    """Sets the variables to a file's values; see `load_weights`.

    Raises:
      ValueError: names or shapes differ. The message lists all differences.
    """
    wanted = {_name(variable): tuple(variable.shape) for variable in variables}
    found = {name: array.shape for name, array in weights.arrays.items()}
    lacking = [name for name in map(_name, optional) if name not in found]
    wanted = {name: shape for name, shape in wanted.items() if name not in lacking}
    if wanted != found:
        differences = [
            f"{name}: the model has {wanted.get(name, 'no such variable')}, "
            f"the file {found.get(name, 'no such data set')}"
            for name in sorted(wanted.keys() | found.keys())
            if wanted.get(name) != found.get(name)
        ]
        differences = "\n  ".join(differences)
        raise ValueError(f"{weights.path}: not this model's weights:\n  {differences}")
    for variable in variables:
        if _name(variable) in found:
            variable.assign(weights.arrays[_name(variable)])
    return lacking


def _name(variable):
    return variable.name.removesuffix(":0")
