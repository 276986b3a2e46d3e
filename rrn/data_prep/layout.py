"""Checks for a data set's validator: the layout of its arrays, and their contents.

A validator is a function `check(datasets)` in a data set's module `schema`. It raises `DataError`
at the first thing that is wrong.
"""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep import DataError

# Dataset -> (dtype, axes). An axis is a number, or a name that has one length wherever it occurs,
# such as "Q" or "Q+1". A name of a split holds within it; "{split}/" stands for every split.
Layout = Mapping[str, tuple[str, tuple[int | str, ...]]]
SPLITS = ("train", "valid", "test")


def check_layout(datasets: Mapping[str, np.ndarray], layout: Layout) -> None:
    """Compares names, dtypes and shapes with a layout.

    Splits for training and validation must not be empty.
    """
    wanted = {
        name.format(split=split): (split if "{split}" in name else "", *rest)
        for name, rest in layout.items()
        for split in SPLITS
    }
    for name in wanted.keys() ^ datasets.keys():
        raise DataError(f"{name}: {'missing' if name in wanted else 'not in the schema'}")
    for split in ("train", "valid"):
        first = next((name for name in wanted if name.startswith(f"{split}/")), None)
        if first and not len(datasets[first]):
            raise DataError(f"{first}: empty; expected at least one example of the split {split}")
    lengths = {}
    for name, (split, dtype, axes) in wanted.items():
        array, shown = datasets[name], f"[{', '.join(map(str, axes))}]"
        if array.dtype != dtype:
            raise DataError(f"{name}: its dtype is {array.dtype}; expected {dtype}")
        if array.ndim != len(axes):
            raise DataError(f"{name}: its shape is {array.shape}; expected {shown}")
        for length, axis in zip(array.shape, axes, strict=True):
            axis, _, more = str(axis).partition("+")
            known = int(axis) if axis.isdecimal() else lengths.get((split, axis))
            known = lengths.get(("", axis)) if known is None else known
            if known is None and length >= int(more or 0):
                lengths[split, axis] = length - int(more or 0)
            elif known is None or length != known + int(more or 0):
                raise DataError(
                    f"{name}: its shape is {array.shape}; expected {shown}"
                    + ("" if axis.isdecimal() else f" with {axis} = {known or 0}")
                )


def check_range(name: str, array: np.ndarray, low: int, high: int | np.ndarray) -> None:
    """Refuses an array with a number that is not low <= number < high, which may be an array."""
    check_all(name, (array >= low) & (array < high), array, f"at least {low} and below the limit")


def check_all(name: str, right: np.ndarray | np.bool_, array: np.ndarray, expected: str) -> None:
    """Refuses an array with an entry, or row, that is not `right`; the `DataError` names it."""
    if not right.all():
        index = np.unravel_index(right.argmin(), right.shape)
        shown = np.array2string(array[index], threshold=20, max_line_width=1000)
        at = ", ".join(map(str, index))
        raise DataError(f"{name}[{at}] is {shown.splitlines()[0]}; expected {expected}")


def is_permutation(rows: np.ndarray) -> np.ndarray:
    """Returns which rows of [..., length] integers hold each of 0 to length - 1 once."""
    return (np.sort(rows, axis=-1) == np.arange(rows.shape[-1])).all(axis=-1)
