"""Prepared HDF5 files, read into memory."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.data_prep import hdf5


@dataclasses.dataclass
class PreparedData:
    """A file of `data_prep`, read into memory.

    Integers are int32, except that bytes with three or more axes (images) stay bytes.

    Attributes:
      shared: name -> array of what all splits use.
      splits: split -> name -> array.
    """

    path: str
    attributes: Mapping[str, Any]
    shared: dict
    splits: dict
    digest: str = ""

    @classmethod
    def of(cls, contents: hdf5.Contents) -> "PreparedData":
        """Sorts what `hdf5.read` has read of a file by splits."""
        shared, splits = {}, {}
        for name, array in contents.datasets.items():
            top, _, rest = name.partition("/")
            if array.dtype.kind in "iu" and not (array.dtype == np.uint8 and array.ndim > 2):
                array = array.astype(np.int32, copy=False)
            if top in ("train", "valid", "test"):
                splits.setdefault(top, {})[rest] = array
            else:
                shared[name] = array
        return cls(contents.path, contents.attributes, shared, splits, contents.digest)

    def arrays(self, split: str) -> dict[str, tf.Tensor]:
        """Puts a split's arrays and the shared ones on the CPU, but for words: name -> tensor.

        Raises:
          ValueError: the file has no such split.
        """
        if split not in self.splits:
            names = ", ".join(sorted(self.splits)) or "none"
            raise ValueError(f"{self.path}: split must be one of {names}, got {split!r}")
        with tf.device("CPU:0"):
            return {
                name: tf.constant(array)
                for name, array in {**self.shared, **self.splits[split]}.items()
                if array.dtype != object
            }

    def constant(self, name: str, compute: Callable[[Mapping[str, np.ndarray]], Any]) -> Any:
        """Returns what `compute` makes of the training split, or a weights file's constant."""
        if "train" in self.splits and name not in self.shared:
            return compute(self.splits["train"])
        return self.shared[name]

    def check_compatible(self, other: "PreparedData") -> None:
        """Refuses data that do not fit a model that was made on these.

        Raises:
          ValueError: another schema or version, other shapes of examples, or words of other ids.
        """
        path = other.path
        for field in "schema", "version":
            mine, theirs = (data.attributes.get(field) for data in (self, other))
            if mine != theirs:
                raise ValueError(f"{path}: {field} is {theirs!r}, that of {self.path} {mine!r}")
        for name, words in self.shared.items():
            theirs = other.shared.get(name, np.array([], object))
            if words.dtype == object and not np.array_equal(words, theirs):
                one_sided = ", ".join(sorted(set(words) ^ set(theirs))[:5])
                how = f"only one has {one_sided}" if one_sided else "another order"
                raise ValueError(f"{path}: its {name} is not that of {self.path}: {how}")
        wanted = {n: array.shape[1:] for part in self.splits.values() for n, array in part.items()}
        for split, arrays in other.splits.items():
            found = {name: array.shape[1:] for name, array in arrays.items()}
            for name, shape in wanted.items():
                if found.get(name) != shape:
                    raise ValueError(
                        f"{path}: {split}/{name}: {found.get(name, 'absent')} of an example; in "
                        f"{self.path} it is {shape}"
                    )


def read_prepared(path: str) -> PreparedData:
    """Reads a file that `python -m data_prep` made.

    Raises:
      ValueError: it is damaged, or absent.
    """
    return PreparedData.of(hdf5.read(path))
