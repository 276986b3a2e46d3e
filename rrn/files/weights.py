"""A model's weights as HDF5, readable without TensorFlow, with what makes the model again.

A file has one float32 data set for each variable, by the variable's name. Variables in shards are
stored whole, so that a file does not tell where it was trained. Beside them are

    constants/...  what the model took from the data that it was made on, such as its vocabulary
    attributes     task, model (its fields), what else describes the model; dicts and lists are JSON

`rrn.data_prep.hdf5` writes it with its digest.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rrn.data_prep import hdf5
from rrn.data_prep.layout import check_all
from rrn.variables.reading import Variable, module_variables, read

CONSTANTS = "constants/"  # no variable's name begins so


@dataclasses.dataclass(frozen=True)
class Weights:
    """What a weights file holds.

    Attributes:
      arrays: variable's name -> values, float32.
      constants: name -> what the model took from its data: numbers, or words (dtype object).
      attributes: what describes the model: numbers, strings, and dicts and lists that JSON takes.
    """

    path: str
    arrays: dict[str, np.ndarray]
    constants: dict[str, Any]
    attributes: dict[str, Any]

    def sha256(self) -> str:
        """Computes the SHA-256 of the variables' names and values alone."""
        digest = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.shape}\n".encode() + array.tobytes())
        return digest.hexdigest()


def write_weights(weights: Weights) -> None:
    """Writes a weights file, its `path`.

    Raises:
      ValueError: a value is not finite, or no float32; the message names the variable.
    """
    for name, array in weights.arrays.items():
        if array.dtype != np.float32:
            raise ValueError(f"{weights.path}: {name}: expected float32, got {array.dtype}")
        check_all(f"{weights.path}: {name}", np.isfinite(array), array, "finite weights")
    items = dict(weights.arrays)
    for name, value in weights.constants.items():
        array = np.asarray(value)
        items[CONSTANTS + name] = array.astype(object) if array.dtype.kind in "UT" else array
    attributes = {
        name: json.dumps(value) if isinstance(value, Mapping | list) else value
        for name, value in weights.attributes.items()
    }
    hdf5.write(weights.path, items, attributes, compress=False)


def read_weights(path: str | Path) -> Weights:
    """Reads a weights file and verifies its digest.

    Raises:
      ValueError: there is no such file, it is not a weights file, or it is damaged.
    """
    contents = hdf5.read(path, "a run writes it after its validation, and pretrained/ has some")
    arrays, constants = {}, {}
    for name, array in contents.datasets.items():
        if name.startswith(CONSTANTS):
            constants[name.removeprefix(CONSTANTS)] = array
        else:
            arrays[name] = array
    attributes = {
        name: json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
        for name, value in contents.attributes.items()
    }
    return Weights(str(path), arrays, constants, attributes)


def model_variables(task: Any) -> list[Variable]:
    """Lists a task's trainable variables, whole: its `encoder`'s, then its `network`'s."""
    variables = *module_variables(task.encoder), *module_variables(task.network)
    return list(_by_name(variables).values())


def save_weights(
    path: str | Path,
    variables: Sequence[Variable],
    attributes: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> None:
    """Writes the values of variables, whole or in shards, to a file; see `write_weights`."""
    arrays = {name: read(variable).numpy() for name, variable in _by_name(variables).items()}
    write_weights(Weights(str(path), arrays, dict(constants or {}), dict(attributes or {})))


def load_weights(
    path: str | Path, variables: Sequence[Variable], optional: Sequence[Variable] = ()
) -> list[str]:
    """Sets variables, whole or in shards, to the values of a file; see `assign_weights`."""
    return assign_weights(read_weights(path), variables, optional)


def assign_weights(
    weights: Weights, variables: Sequence[Variable], optional: Sequence[Variable] = ()
) -> list[str]:
    """Sets variables to a file's values; returns the names of those that the file lacks.

    Only those among `optional` may be lacking. They keep their values.

    Raises:
      ValueError: names or shapes differ; the message lists all differences. None has changed then.
    """
    named = _by_name(variables)
    wanted = {name: tuple(variable.shape) for name, variable in named.items()}
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
    for name in found:
        named[name].assign(weights.arrays[name])
    return lacking


def _by_name(variables):
    named = {}
    for variable in variables:
        name = _name(variable)
        if named.setdefault(name, variable) is not variable:
            raise ValueError(f"two variables are called {name}: give their modules other names")
    return named


def _name(variable):
    return variable.name.removesuffix(":0")
