"""A model's weights as HDF5, readable without TensorFlow.

A file has one data set for each variable, by the variable's name. Variables in shards are stored
whole, so that a file does not tell where it was trained.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import tensorflow as tf

from rrn.reading import module_variables


def model_variables(task: Any) -> list[tf.Variable]:
    """A task's trainable variables: its encoder's, then its network's.

    Args:
      task: an object with the modules `encoder` and `network`.

    Returns:
      Whole variables: a variable in shards is one `ShardedVariable`.
    """
    return [*module_variables(task.encoder), *module_variables(task.network)]


def save_weights(
    path: str | Path,
    variables: Sequence[tf.Variable],
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Writes the variables' values. The file appears whole or not at all.

    Args:
      path: the file, which is replaced if it exists.
      variables: variables, whole or in shards, with different names.
      attributes: numbers and strings that become attributes of the file.
    """
    temporary = f"{path}.tmp"
    with h5py.File(temporary, "w") as file:
        file.attrs.update(attributes or {})
        for variable in variables:
            file[_name(variable)] = tf.convert_to_tensor(variable).numpy()
    os.replace(temporary, path)


def load_weights(
    path: str | Path, variables: Sequence[tf.Variable], optional: Sequence[tf.Variable] = ()
) -> list[str]:
    """Sets the variables to the values of a file that `save_weights` has written.

    Args:
      path: the file.
      variables: variables with the names and shapes of those in the file, whole or in shards.
      optional: those of them that the file may lack; they keep their values then.

    Returns:
      The names of the variables that the file lacks.

    Raises:
      ValueError: there is no such file, it is not a weights file, or names or shapes differ. The
        message lists all differences. No variable has changed then.
    """
    arrays = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    try:
        with h5py.File(path, "r") as file:
            file.visititems(collect)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; a run writes it after its validation") from None
    except OSError as error:
        raise ValueError(f"{path}: not a readable weights file: {error}") from None
    wanted = {_name(variable): tuple(variable.shape) for variable in variables}
    found = {name: array.shape for name, array in arrays.items()}
    lacking = [name for name in map(_name, optional) if name not in found]
    wanted = {name: shape for name, shape in wanted.items() if name not in lacking}
    if wanted != found:
        differences = [
            f"{name}: the model has {wanted.get(name, 'no such variable')}, "
            f"the file {found.get(name, 'no such data set')}"
            for name in sorted(wanted.keys() | found.keys())
            if wanted.get(name) != found.get(name)
        ]
        raise ValueError(f"{path}: not this model's weights:\n  " + "\n  ".join(differences))
    for variable in variables:
        if _name(variable) in arrays:
            variable.assign(arrays[_name(variable)])
    return lacking


def _name(variable):
    return variable.name.removesuffix(":0")
