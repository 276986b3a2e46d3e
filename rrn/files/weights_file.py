"""A model's weights as HDF5, readable without TensorFlow, with what makes the model again.

A file has one float32 data set for each variable, by the variable's name. Variables in shards are
stored whole, so that a file does not tell where it was trained. Beside them are

    constants/...  what the model took from the data that it was made on, such as its vocabulary
    attributes     task, model (its fields), and whatever else describes the model; a dict is JSON

Before the HDF5 comes a line of JSON, in what HDF5 calls a user block: each array's place and
SHA-256, and the SHA-256 of these and of all that follows. It is compared before anything else is
read: HDF5 itself does not notice a wrong byte in an array, and may crash at one elsewhere.

Needs no TensorFlow, so that a file is verified before TensorFlow has loaded.
"""

import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rrn.data_prep.hdf5 import naming, plain_datasets
from rrn.data_prep.writing import whole

CONSTANTS = "constants"  # the group; no variable is called so
HDF5 = b"\x89HDF\r\n\x1a\n"  # how a file begins that has no user block


@dataclasses.dataclass(frozen=True)
class Weights:
    """What a weights file holds.

    Attributes:
      arrays: variable's name -> values, float32.
      constants: name -> what the model took from its data: numbers, or words (dtype object).
      attributes: what describes the model; numbers, strings and dicts.
    """

    path: str
    arrays: dict[str, np.ndarray]
    constants: dict[str, np.ndarray]
    attributes: dict[str, Any]

    def sha256(self) -> str:
        """Computes the SHA-256 of the variables' names and values, whatever else the file holds."""
        digest = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.shape}\n".encode() + array.tobytes())
        return digest.hexdigest()


def write_weights(weights: Weights) -> None:
    """Writes a weights file, its `path`; see `rrn.files.weights.save_weights`.

    Raises:
      ValueError: a value is not finite, or no float32; the message names the variable.
    """
    items = _items(weights)
    for name, array in items.items():
        _check(weights.path, name, array)
    size = 512  # of the user block, a power of 2
    while size < 256 + sum(len(name) + 128 for name in items):
        size *= 2
    memory = io.BytesIO()  # HDF5 itself does not say well that a disk is full
    with h5py.File(memory, "w", userblock_size=size) as file:
        for name, value in weights.attributes.items():
            file.attrs[name] = json.dumps(value) if isinstance(value, Mapping) else value
        for name, array in items.items():
            file[name] = array
        offsets = {name: file[name].id.get_offset() for name in items}
    content = memory.getvalue()[size:]
    with whole(weights.path) as temporary:
        temporary.write_bytes(_header(size, content, items, offsets) + content)


def read_weights(path: str | Path) -> Weights:
    """Reads a weights file and verifies every byte of it.

    Raises:
      ValueError: there is no such file, it is not a weights file, or it is not as it was written.
        The message names the file and the arrays that are damaged.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; a run writes it after its validation") from None
    except OSError as error:
        raise ValueError(f"{path}: not a readable weights file: {error.strerror}") from None
    _verify(path, content)
    arrays = {}
    with h5py.File(io.BytesIO(content), "r") as file:
        for name, item in plain_datasets(path, file).items():
            with naming(path, name):
                array = item.asstr()[()] if item.dtype.kind == "O" else item[()]
                arrays[name] = np.asarray(array)
            _check(path, name, arrays[name])
        with naming(path, "attributes"):
            attributes = {name: _attribute(value) for name, value in file.attrs.items()}
    prefix = f"{CONSTANTS}/"
    constants = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(prefix)}
    return Weights(str(path), arrays, constants, attributes)


def _header(size, content, items, offsets):
    """The user block, of so many bytes, of what follows it. Words have no place of their own."""
    places = {
        name: [offset, array.nbytes, _sha256(content[offset - size :][: array.nbytes])]
        for (name, array), offset in zip(items.items(), offsets.values(), strict=True)
        if offset is not None and array.dtype.kind != "O"
    }
    header = {"bytes": size, "sha256": _sha256_of_all(places, content), "arrays": places}
    return (json.dumps(header).encode() + b"\n").ljust(size, b"\0")


def _verify(path, content):
    """Raises ValueError for a file that is not as it was written."""
    if content.startswith(HDF5):
        raise ValueError(
            f"{path}: it has no digests, so that another program wrote it; expected a weights file "
            "that a run or `python -m rrn.models.publish` wrote"
        )
    try:
        header = json.loads(content.partition(b"\n")[0])
        size, digest, arrays = (header[name] for name in ("bytes", "sha256", "arrays"))
        if digest == _sha256_of_all(arrays, content[size:]):
            return
        damaged = [name for name, (i, n, d) in arrays.items() if d != _sha256(content[i : i + n])]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"{path}: not a readable weights file: it does not begin with its digests"
        ) from None
    what = ", ".join(damaged) or "its structure, attributes or words"
    raise ValueError(f"{path}: {what}: not as written, the SHA-256 differs")


def _check(path, name, array):
    if not name.startswith(f"{CONSTANTS}/") and array.dtype != np.float32:
        raise ValueError(f"{path}: {name}: weights must be float32, got {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        found = array[tuple(place)]
        raise ValueError(f"{path}: {name}{place}: weights must be finite, got {found}")


def _items(weights):
    """Path in the file -> array; words have dtype object."""
    constants = {f"{CONSTANTS}/{name}": value for name, value in weights.constants.items()}
    items = {name: np.asarray(value) for name, value in {**weights.arrays, **constants}.items()}
    return {n: a.astype(object) if a.dtype.kind in "UT" else a for n, a in items.items()}


def _sha256_of_all(places, content):
    return _sha256(json.dumps(places).encode() + content)


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


def _attribute(value):
    value = getattr(value, "item", lambda: value)()
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value
