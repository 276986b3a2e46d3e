"""Writes a prepared data set as one HDF5 file, whole or not at all, and reads it undamaged.

A file checks itself. HDF5 leaves the first 512 bytes to its users (its "user block"). They hold one
line with the SHA-256 of all bytes after them. A reader compares it before HDF5 looks at the file,
so it notices every changed, lost or added byte: in the arrays, in the attributes, and in HDF5's own
index, which has no checksum (one wrong bit there reads as a block of zeros). HDF5's fletcher32 is
not used: it covers compressed blocks alone, which zlib's checksum covers anyway.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np

from data_prep import DataError
from data_prep.failures import writing

USER_BLOCK = 512  # bytes, the least that HDF5 allows
SEAL = b"prepared data; SHA-256 of all bytes after the first 512: "
BLOCK = 1 << 20  # bytes hashed at once


def write(
    path: Path,
    datasets: Mapping[str, np.ndarray],
    attributes: Mapping[str, str | int],
) -> None:
    """Writes datasets and attributes to a new file.

    Args:
      path: the file. Its folder is made if it is not there.
      datasets: arrays by their path in the file. Numbers are compressed; arrays of Python strings
        (dtype object) become variable-length UTF-8.
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

    The file is made in memory, written under another name in the same folder and renamed at the
    end. So a run that fails or is interrupted leaves an earlier file as it was.

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
        _touch(unfinished, path)
        memory = io.BytesIO()  # HDF5 itself does not say well that a disk is full
        with h5py.File(memory, "w", userblock_size=USER_BLOCK) as file:
            file.attrs.update(attributes)
            for name, array in datasets.items():
                if array.dtype == object:
                    file.create_dataset(name, data=array, dtype=h5py.string_dtype())
                elif array.size == 0:  # HDF5 cannot cut an empty array into chunks
                    file.create_dataset(name, data=array)
                else:
                    file.create_dataset(name, data=array, compression="gzip", shuffle=True)
            yield file
        memory.seek(USER_BLOCK)
        content = _user_block(_digest(memory)) + memory.getvalue()[USER_BLOCK:]
        with writing(path), unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _touch(unfinished: Path, path: Path) -> None:
    """Makes an empty file; where that fails it says why, which HDF5 does not."""
    try:
        unfinished.touch()
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def read(path: Path | str) -> tuple[dict[str, str | int], dict[str, np.ndarray]]:
    """Reads a prepared file into memory, after its digest is found right.

    Args:
      path: the file.

    Returns:
      attributes: the file's attributes. datasets: arrays by their path in the file. Strings are
      arrays of dtype object.

    Raises:
      DataError: there is no such file, it is no prepared file, or it is damaged.
    """
    found, datasets = attributes(path), {}

    def collect(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype)
            with _naming(path, name):
                datasets[name] = item.asstr()[:] if text else item[:]

    with h5py.File(path) as file:
        file.visititems(collect)
    return found, datasets


def attributes(path: Path | str) -> dict[str, str | int]:
    """Returns a prepared file's attributes, after its digest is found right.

    Args:
      path: the file.

    Raises:
      DataError: there is no such file, it is no prepared file, or it is damaged.
    """
    verify(path)
    with h5py.File(path) as file, _naming(path, "attributes"):
        return {name: getattr(v, "item", lambda v=v: v)() for name, v in file.attrs.items()}


@contextlib.contextmanager
def _naming(path: Path | str, what: str) -> Iterator[None]:
    """Within it, what HDF5 says of something that is not of this program names the file."""
    try:
        yield
    except (KeyError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{path}: {what}: not as this program writes it: {error}") from error


def verify(path: Path | str) -> str:
    """Compares a prepared file with the digest in it.

    Args:
      path: the file.

    Returns:
      The digest, 64 hexadecimal digits.

    Raises:
      DataError: there is no such file, it has no digest, or another one than its bytes.
    """
    try:
        with open(path, "rb") as file:
            block = file.read(USER_BLOCK)
            digest = _digest(file)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `python -m data_prep` makes it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if block != _user_block(digest):
        if not block.startswith(SEAL):
            raise DataError(
                f"{path}: not a file of this program's data_prep, or of one that did not yet write"
                " a digest; prepare it again: `python -m data_prep --help`"
            )
        raise DataError(
            f"{path}: damaged, or changed after it was prepared: its digest does not fit its"
            " bytes; prepare it again: `python -m data_prep --help`"
        )
    return digest


def _user_block(digest: str) -> bytes:
    return (SEAL + digest.encode() + b"\n").ljust(USER_BLOCK, b"\0")


def _digest(file: BinaryIO) -> str:
    """Returns the SHA-256 of the rest of an open file."""
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()
