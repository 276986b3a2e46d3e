"""Weights as HDF5, readable without TensorFlow: one data set per variable, by the variable's
name, whole even where the variable is in shards.
"""

import os

import h5py
import tensorflow as tf


def _name(variable):
    return variable.name.removesuffix(":0")


def save_weights(path, variables, attributes):
    """Writes the variables' values; the file appears whole or not at all."""
    temporary = f"{path}.tmp"
    with h5py.File(temporary, "w") as file:
        file.attrs.update(attributes)
        for variable in variables:
            file[_name(variable)] = tf.convert_to_tensor(variable).numpy()
    os.replace(temporary, path)


def load_weights(path, variables):
    """Sets the variables from the file.

    Raises:
      ValueError: no such file, not a weights file, or names or shapes that differ (all are listed);
        then no variable is changed.
    """
    arrays = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    try:
        with h5py.File(path, "r") as file:
            file.visititems(collect)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; a run writes it after its validation") from None
    except OSError as error:
        raise ValueError(f"{path}: not a readable weights file: {error}") from None
    wanted = {_name(variable): tuple(variable.shape) for variable in variables}
    found = {name: array.shape for name, array in arrays.items()}
    if wanted != found:
        differences = [
            f"{name}: the model has {wanted.get(name, 'no such variable')}, "
            f"the file {found.get(name, 'no such data set')}"
            for name in sorted(wanted.keys() | found.keys())
            if wanted.get(name) != found.get(name)
        ]
        raise ValueError(f"{path}: not this model's weights:\n  " + "\n  ".join(differences))
    for variable in variables:
        variable.assign(arrays[_name(variable)])
