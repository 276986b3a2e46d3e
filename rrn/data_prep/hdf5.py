"""HDF5 files that check themselves: prepared data sets, and weights.

HDF5 leaves the first bytes of a file to its users (its "user block"). Here they begin with a line
of JSON: how many they are, and the SHA-256 of all bytes after them. A reader compares it before
HDF5 looks at the file: HDF5's own index has no checksum, and one wrong bit there reads as a block
of zeros.
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

from rrn.data_prep import DataError
from rrn.data_prep.writing import whole

USER_BLOCK = 512  # bytes, the least that HDF5 allows


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes:
      digest: the SHA-256 in it, 64 hexadecimal digits.
      datasets: arrays by their path in the file. Strings are arrays of dtype object.
    """

    path: str
    digest: str
    attributes: dict[str, Any]
    datasets: dict[str, np.ndarray]


def write(
    path: Path | str,
    datasets: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    compress: bool = True,
) -> None:
    """Writes a file, whole or not at all, and its folder if that is missing.

    Args:
      datasets: arrays by their path in the file. Those of dtype object are Python strings.
      compress: whether numbers are compressed.
    """
    memory = io.BytesIO()  # HDF5 itself does not say well that a disk is full
    with h5py.File(memory, "w", userblock_size=USER_BLOCK) as file:
        file.attrs.update(attributes)
        for name, array in datasets.items():
            array = np.asarray(array)
            file.create_dataset(name, data=array, **_storage(array, compress))
    content = memory.getbuffer()[USER_BLOCK:]
    header = {"bytes": USER_BLOCK, "sha256": hashlib.sha256(content).hexdigest()}
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as unfinished, unfinished.open("wb") as file:
        file.write((json.dumps(header) + "\n").encode().ljust(USER_BLOCK, b"\0"))
        file.write(content)


def _storage(array, compress):
    if array.dtype == object:
        return {"dtype": h5py.string_dtype()}
    if not compress or array.size == 0 or array.ndim == 0:  # HDF5 cannot cut these into chunks
        return {}
    if array.ndim == 4:  # images, each alone; a quarter larger than with 4, and read much faster
        return {"chunks": (1, *array.shape[1:]), "compression": "gzip", "compression_opts": 1}
    return {"compression": "gzip", "shuffle": True}


def read(
    path: Path | str, missing: str = "the first lines of a config have the command that makes it"
) -> Contents:
    """Reads a file into memory.

    Raises:
      DataError: there is no such file (`missing` says how to get it), `write` has not written it,
        or it is damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}; {missing}")
    content = path.read_bytes()
    line = content.partition(b"\n")[0]
    try:
        header = json.loads(line)
        digest = hashlib.sha256(memoryview(content)[header["bytes"] :])
        damaged = header["sha256"] != digest.hexdigest()
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{path}: it does not begin with its digest: another program wrote it, or it is damaged"
        ) from error
    if damaged:
        raise DataError(
            f"{path}: damaged, or changed since it was written: its SHA-256 is not the one that it"
            " begins with; make it or get it again"
        )
    datasets = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype)
            datasets[name] = np.asarray((item.asstr() if text else item)[()])

    with h5py.File(io.BytesIO(content)) as file:
        file.visititems(collect)
        attributes = {n: getattr(v, "item", lambda v=v: v)() for n, v in file.attrs.items()}
    return Contents(str(path), header["sha256"], attributes, datasets)
