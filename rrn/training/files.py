"""The files that a run begins with, each read and verified once, before TensorFlow has loaded."""

import dataclasses
import functools
from pathlib import Path

from rrn.data_prep import finding, hdf5
from rrn.files.weights_file import Weights, read_weights
from rrn.tasks import check_schema, find_task
from rrn.training.request import Request


@dataclasses.dataclass(frozen=True)
class Files:
    """What was read of the files that a run begins with.

    Attributes:
      data: the prepared file that the model is made on; None where `weights` have what it needs.
      evaluation: the prepared file that `evaluate` names, often the same; None if not asked for.
      weights: what to start from, or what to evaluate or export; None if there is nothing.
    """

    data: hdf5.Contents | None = None
    evaluation: hdf5.Contents | None = None
    weights: Weights | None = None


def read_files(request: Request) -> Files:
    """Reads and verifies what the run needs; no file that is named twice is read twice.

    Raises:
      ValueError: a file is missing, damaged or of another task. The message names it.
    """
    config, mode, weights = request.config, request.mode, None
    if request.weights is not None and mode != "variables":
        weights = read_weights(request.weights)
    elif mode in ("evaluate", "export"):
        weights = read_weights(Path(request.workdir) / "weights.h5")
    if mode == "export":
        return Files(weights=weights)
    read = functools.cache(functools.partial(_read_prepared, config.task))
    given = weights.attributes if request.weights and weights else {}
    saved_model = mode == "evaluate" and "task" in given
    data = None if saved_model else read(config.data.path)
    evaluated = mode != "variables"
    evaluation = read(config.evaluate.path or config.data.path) if evaluated else None
    return Files(data, evaluation, weights)


def _read_prepared(task, path):
    schema, _ = find_task(task).SCHEMAS[0]
    contents = hdf5.read(path, finding.making(schema, path))
    check_schema(task, path, contents.attributes)
    return contents
