"""Writes a prepared data set as one HDF5 file, whole or not at all."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np


def write(
    path: Path,
    datasets: Mapping[str, np.ndarray],
    attributes: Mapping[str, str | int],
) -> None:
    """Writes datasets and attributes to a new file.

    Args:
        path: the file. Its folder is made if it is not there.
        datasets: arrays by their path in the file. Numbers are compressed; arrays of Python
            strings (dtype object) become variable-length UTF-8.
        attributes: the file's attributes.
    """
    with create(path, datasets, attributes):
        pass


@contextlib.contextmanager
def create(
    path: Path,
    datasets: Mapping[str, np.ndarray],
    attributes: Mapping[str, str | int],
) -> Iterator[h5py.File]:
    """Writes a file as `write` does, and keeps it open so that the context can add more.

    The file is made under another name in the same folder and renamed at the end. So a run that
    fails or is interrupted leaves an earlier file as it was.

    Args:
        path: the file. Its folder is made if it is not there.
        datasets: arrays by their path in the file, as for `write`.
        attributes: the file's attributes.

    Yields:
        The open file, which holds the datasets and attributes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with h5py.File(unfinished, "w") as file:
            file.attrs.update(attributes)
            for name, array in datasets.items():
                if array.dtype == object:
                    file.create_dataset(name, data=array, dtype=h5py.string_dtype())
                elif array.size == 0:  # HDF5 cannot cut an empty array into chunks
                    file.create_dataset(name, data=array)
                else:
                    file.create_dataset(name, data=array, compression="gzip", shuffle=True)
            yield file
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
