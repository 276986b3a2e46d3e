"""Reads MNIST as it is published: four IDX files, or one mnist.npz."""

import math
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, input_files
from rrn.data_prep.failures import words_of
from rrn.data_prep.layout import check_range
from rrn.data_prep.mnist.digits import SIZE

IDX_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
Named = tuple[Path | str, np.ndarray]  # where an array is, and the array
Digits = tuple[np.ndarray, np.ndarray]  # images [digits, 28, 28] and labels [digits], uint8


def read(path: Path) -> dict[str, Digits]:
    """Reads the training and the test digits of a folder of the four IDX files, or of an .npz file.

    Returns:
      For "train" and "test", images [digits, 28, 28] and labels [digits], both uint8.

    Raises:
      DataError: a file is missing or wrong; the message names it.
    """
    if path.is_dir():
        members: dict[str, list[Named]] = {
            split: [(file, _read_idx(file)) for file in (_find(path, name) for name in names)]
            for split, names in IDX_FILES.items()
        }
    else:
        members = _read_npz(path)
    return {split: _checked(*images, *labels) for split, (images, labels) in members.items()}


def _checked(images_name, images, labels_name, labels):
    for name, array, shape in ((images_name, images, (SIZE, SIZE)), (labels_name, labels, ())):
        if array.dtype != np.uint8 or array.ndim == 0 or array.shape[1:] != shape:
            raise DataError(
                f"{name}: {array.dtype} {list(array.shape)}; expected uint8 {['N', *shape]}"
            )
    if not len(labels):
        raise DataError(f"{labels_name}: empty; expected at least one digit")
    if len(images) != len(labels):
        raise DataError(
            f"{labels_name}: {len(labels):,} labels for the {len(images):,} images of {images_name}"
        )
    check_range(labels_name, labels, 0, 10)
    return images, labels


def _find(folder: Path, name: str) -> Path:
    for file in (folder / name, folder / f"{name}.gz"):
        if file.exists():
            return file
    raise DataError(f"{folder}: no file {name} there, nor with .gz; MNIST has four files")


def _read_idx(path: Path) -> np.ndarray:
    """Returns the numbers of an IDX file, plain or .gz.

    The file holds two zero bytes, the type (8 for uint8), the number of axes, each axis's length
    as a big-endian uint32, and then the numbers.
    """
    data = input_files.read_file(path)
    num_axes = 3 if "idx3" in path.name else 1
    magic, header = bytes([0, 0, 8, num_axes]), 4 + 4 * num_axes
    if data[:4] != magic:
        start = data[:4].hex(" ") or "nothing"
        raise DataError(f"{path}: starts with {start}; expected the bytes {magic.hex(' ')}")
    shape = np.frombuffer(data[4:header].ljust(header - 4, b"\0"), ">u4").tolist()
    if len(data) != header + math.prod(shape):
        raise DataError(
            f"{path}: {len(data):,} bytes; expected {header + math.prod(shape):,} by its header;"
            " it is cut short or damaged: get it again"
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def _read_npz(path: Path) -> dict[str, list[Named]]:
    names = {split: (f"x_{split}", f"y_{split}") for split in IDX_FILES}
    try:
        with np.load(path) as file:
            return {
                split: [(f"{path}, {name}", file[name]) for name in pair]
                for split, pair in names.items()
            }
    except Exception as error:  # NumPy and zipfile raise a dozen kinds for a damaged file
        raise DataError(
            f"{path}: {words_of(error)}; expected mnist.npz with x_train, y_train, x_test and "
            "y_test, or a folder of IDX files"
        ) from error
