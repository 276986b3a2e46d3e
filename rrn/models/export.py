"""Writes models as SavedModels, which run in plain TensorFlow, without rrn."""

import json
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.data_prep.writing import check_path, whole
from rrn.files.weights import Weights, model_variables, read_weights
from rrn.models.saved import load, naming
from rrn.variables.reading import reading_scope

ABOUT = "assets.extra/model.json"  # in the folder: what the weights file says of its model


def export(
    weights: str | Path | Weights, folder: str | Path, compiled: bool = False, **fields: Any
) -> str:
    """Writes the model of a weights file as a SavedModel; says what that takes and returns.

    Its `predict` and its signature "serving_default" take and return what the task's `predict`
    does, by name.

    Args:
      folder: the SavedModel's folder; an earlier SavedModel there is replaced.
      compiled: whether XLA compiles `predict`, once for every number of examples that it is given.
      fields: see `rrn.load`.

    Raises:
      ValueError: as `rrn.load`; the task has no `predict`; XLA cannot compile strings that it
        takes or returns; or the folder holds something else, or has a name that TensorFlow cannot
        take.
    """
    if not isinstance(weights, Weights):
        weights = read_weights(weights)
    folder, model, path = Path(folder), load(weights, **fields), weights.path
    check_path("folder", folder)
    if not model.inputs():
        raise ValueError(f"{path}: {type(model).__name__} says nothing of what `predict` takes")
    if folder.exists() and not (folder / "saved_model.pb").exists():
        raise ValueError(f"{folder}: is there and no SavedModel; name another folder")
    with whole(folder) as temporary:
        with naming(path):
            outputs = _save(model, temporary, compiled)
        about = {**weights.attributes, "model": model.config.model_dump()}
        (temporary / ABOUT).parent.mkdir()
        (temporary / ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    return f"takes\n{_in_words(model.inputs())}\nreturns\n{_in_words(outputs)}"


def _save(model, folder, compiled):
    """Writes the SavedModel; returns its outputs' specs."""
    specs = model.inputs()
    named = [tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in specs.items()]

    def answer(inputs):
        with reading_scope():
            return model.answers(inputs)

    answers = tf.function(answer, autograph=False, jit_compile=compiled or None)

    @tf.function(input_signature=[specs], autograph=False)
    def predict(inputs):
        return answers(model.checked(inputs))  # XLA leaves out what is checked in the run

    @tf.function(input_signature=named, autograph=False)
    def serve(*values):
        return predict(dict(zip(specs, values, strict=True)))

    outputs = predict.get_concrete_function().structured_outputs
    strings = [name for name, spec in {**specs, **outputs}.items() if spec.dtype == tf.string]
    if compiled and strings:
        raise ValueError(
            f"XLA compiles no strings, as {', '.join(strings)}; export the model with --jit=off"
        )
    module: Any = tf.Module()
    module.weights, module.predict = model_variables(model), predict
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(folder), {"serving_default": serve}, options)
    return outputs


def _in_words(specs):
    """A line for each tensor: its name, type and shape, n for the number of examples."""
    lines = []
    for name, spec in specs.items():
        shape = ", ".join("n" if size is None else str(size) for size in spec.shape.as_list())
        lines.append(f"  {name:<14}{spec.dtype.name:<9}[{shape}]")
    return "\n".join(lines)
