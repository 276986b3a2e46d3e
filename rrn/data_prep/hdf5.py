"""Writes a prepared data set as one HDF5 file, whole or not at all, and reads it undamaged.

A file checks itself. HDF5 leaves the first 512 bytes to its users (its "user block"). They hold one
line with the SHA-256 of all bytes after them. A reader compares it before HDF5 looks at the file,
so it notices every changed, lost or added byte: in the arrays, in the attributes, and in HDF5's own
index, which has no checksum (one wrong bit there reads as a block of zeros). HDF5's fletcher32 is
not used: it covers compressed blocks alone, which zlib's checksum covers anyway.
"""

import contextlib
import dataclasses
import hashlib
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np
from h5py import h5o  # pyright: ignore[reportAttributeAccessIssue] a compiled module

from rrn.data_prep import DataError
from rrn.data_prep.failures import words_of
from rrn.data_prep.writing import whole

USER_BLOCK = 512  # bytes, the least that HDF5 allows
DEEPEST, MOST = 16, 10_000  # groups within each other, and groups and data sets of a file
GZIP, SHUFFLE = h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE
MOST_COMPRESSED = 1032  # bytes that gzip at most makes one of
SEAL = b"prepared data; SHA-256 of all bytes after the first 512: "


def write(
    path: Path | str,
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
    path: Path | str,
    datasets: Mapping[str, np.ndarray],
    attributes: Mapping[str, str | int],
) -> Iterator[h5py.File]:
    """Writes a file as `write` does, and keeps it open so that the context can add more.

    The file is made in memory, and appears at the end, whole. So a run that fails or is interrupted
    leaves an earlier file as it was.

    Args:
      path: the file. Its folder is made if it is not there.
      datasets: arrays by their path in the file, as for `write`.
      attributes: the file's attributes.

    Yields:
      The open file, which holds the datasets and attributes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
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
    content = memory.getvalue()
    with whole(path) as unfinished:
        unfinished.write_bytes(_user_block(_digest(content)) + content[USER_BLOCK:])


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a prepared file holds.

    Attributes:
      path: the file.
      size: the number of its bytes.
      digest: the digest in it, 64 hexadecimal digits.
      attributes: the file's attributes.
      datasets: arrays by their path in the file. Strings are arrays of dtype object.
    """

    path: str
    size: int
    digest: str
    attributes: dict[str, str | int]
    datasets: dict[str, np.ndarray]


def read(path: Path | str) -> Contents:
    """Reads a prepared file into memory; the digest is that of the very bytes that are read.

    Args:
      path: the file.

    Returns:
      Its contents.

    Raises:
      DataError: there is no such file, it is no prepared file, or it is damaged.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `python -m data_prep` makes it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    digest, datasets = _verify(path, content), {}
    with contextlib.ExitStack() as stack:
        with naming(path, "structure"):
            file = stack.enter_context(h5py.File(io.BytesIO(content)))
        with naming(path, "attributes"):
            attributes = {n: getattr(v, "item", lambda v=v: v)() for n, v in file.attrs.items()}
        for name, item in plain_datasets(path, file).items():
            text = h5py.check_string_dtype(item.dtype)
            with naming(path, name):
                datasets[name] = item.asstr()[:] if text else item[:]
    return Contents(str(path), len(content), digest, attributes, datasets)


def plain_datasets(path: Path | str, file: h5py.File) -> dict[str, h5py.Dataset]:
    """Returns the data sets of an open file by their path in it, all of whose values are there.

    Args:
      path: the file, for error messages.
      file: the open file.

    Raises:
      DataError: it has something else than groups and data sets, each in one place; a data set's
        values are in another file, or are fewer than its shape says; or there are too many.
    """
    datasets, seen = {}, set()
    groups: list[tuple[str, h5py.Group]] = [("", file)]
    while groups:
        above, group = groups.pop()
        with naming(path, above or "names"):
            names = list(group)
        for name in names:
            if not (isinstance(name, str) and name.isprintable()):  # bytes are not Unicode
                raise DataError(f"{path}: {above}{name!r}: expected a name that can be shown")
            name, link = f"{above}{name}", group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                raise DataError(f"{path}: {name}: a link to elsewhere; expected its values here")
            with naming(path, name):
                item = file[name]
                place = h5o.get_info(item.id).addr
            if place in seen or place == h5o.get_info(file.id).addr:
                raise DataError(f"{path}: {name}: has a second name; expected each thing once")
            seen.add(place)
            if len(seen) > MOST:
                raise DataError(f"{path}: more than {MOST:,} groups and data sets")
            if isinstance(item, h5py.Dataset):
                with naming(path, name):
                    _check_stored(path, name, item)
                datasets[name] = item
            elif isinstance(item, h5py.Group) and len(item):
                groups.append((f"{name}/", item))
            else:
                raise DataError(f"{path}: {name}: neither a data set nor a group that has any")
            if name.count("/") >= DEEPEST:
                raise DataError(f"{path}: {name}: more than {DEEPEST} groups within each other")
    return dict(sorted(datasets.items(), key=lambda named: named[0].split("/")))


def _check_stored(path: Path | str, name: str, item: h5py.Dataset) -> None:
    """Refuses a data set whose values are not in the file."""
    if item.is_virtual or item.external:
        raise DataError(f"{path}: {name}: its values are in another file; expected them here")
    plist = item.id.get_create_plist()
    filters = {plist.get_filter(i)[0] for i in range(plist.get_nfilters())}
    if not filters <= {GZIP, SHUFFLE}:
        raise DataError(f"{path}: {name}: stored with other filters than gzip and shuffle")
    if item.shape is None:
        raise DataError(f"{path}: {name}: has no shape; expected an array")
    bytes_, stored = item.size * item.id.get_type().get_size(), item.id.get_storage_size()
    if bytes_ > stored * (MOST_COMPRESSED if GZIP in filters else 1):
        raise DataError(
            f"{path}: {name}: its shape {item.shape} says {bytes_:,} bytes, and {stored:,} are"
            " stored; a part is missing"
        )
    if item.chunks and item.size:
        chunks = math.prod(-(-n // of) for n, of in zip(item.shape, item.chunks, strict=True))
        if item.id.get_num_chunks() != chunks:
            raise DataError(
                f"{path}: {name}: {item.id.get_num_chunks():,} of its {chunks:,} chunks are stored;"
                " a part is missing"
            )


@contextlib.contextmanager
def naming(path: Path | str, what: str) -> Iterator[None]:
    """Within it, what HDF5 says of something that is not of this program names the file."""
    try:
        yield
    except DataError:
        raise
    except (KeyError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: {what}: not as this program writes it: {words_of(error)}"
        ) from error


def _verify(path: Path | str, content: bytes) -> str:
    """Returns the digest of a file's bytes, which must be the one in its user block."""
    digest = _digest(content)
    if content[:USER_BLOCK] != _user_block(digest):
        if not content.startswith(SEAL):
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


def _digest(content: bytes) -> str:
    """Returns the SHA-256 of what follows the user block."""
    return hashlib.sha256(memoryview(content)[USER_BLOCK:]).hexdigest()
