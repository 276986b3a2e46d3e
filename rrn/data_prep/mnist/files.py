"""Reads MNIST as it is published: four IDX files, or one mnist.npz."""

import math
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, input_files
from rrn.data_prep.failures import words_of

IDX_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
Digits = tuple[np.ndarray, np.ndarray]  # images [digits, 28, 28] and labels [digits], uint8


def read(path: Path) -> dict[str, Digits]:
    """Reads the "train" and "test" digits of a folder of the four IDX files, or of an .npz file."""
    digits = _read_folder(path) if path.is_dir() else _read_npz(path)
    for split, (images, labels) in digits.items():
        if labels.ndim != 1 or images.shape[:1] != labels.shape:
            raise DataError(
                f"{path}: {split}: labels {list(labels.shape)} for images {list(images.shape)}"
            )
    return digits


def _read_folder(folder: Path) -> dict[str, Digits]:
    found = {}
    for split, names in IDX_FILES.items():
        paths = [folder / name for name in names]
        paths = [path if path.exists() else path.with_name(f"{path.name}.gz") for path in paths]
        for path in paths:
            if not path.is_file():
                raise DataError(f"{path}: no such file, nor without .gz; MNIST has four files")
        found[split] = tuple(map(_read_idx, paths))
    return found


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
        size = header + math.prod(shape)
        raise DataError(f"{path}: {len(data):,} bytes; expected {size:,} by its header")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def _read_npz(path: Path) -> dict[str, Digits]:
    try:
        with np.load(path) as file:
            return {split: (file[f"x_{split}"], file[f"y_{split}"]) for split in IDX_FILES}
    except Exception as error:  # NumPy and zipfile raise a dozen kinds for a damaged file
        raise DataError(
            f"{path}: {words_of(error)}; expected mnist.npz with x_train, y_train, x_test and "
            "y_test, or a folder of IDX files"
        ) from error
