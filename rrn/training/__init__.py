"""Experiments from config to results; no task is named here."""

import contextlib
import sys

from rrn.data_prep.writing import check_path
from rrn.distribute.devices import tune_cpu
from rrn.distribute.processes import serve
from rrn.models.export import export
from rrn.training import evaluate, train
from rrn.training.progress import Output
from rrn.training.request import Request
from rrn.training.step import Trainer
from rrn.training.workdir import Workdir

__all__ = ["Request", "Trainer", "run"]


def run(request: Request) -> None:
    """Trains, evaluates, exports or shows the variables of one experiment.

    Raises:
      ValueError: a config, flag or file does not fit. The message says which, and what would.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
      OSError: a file cannot be read or written.
      SystemExit: a signal has stopped a training, which is saved; see `StopRequest.status`.
    """
    request.check()
    check_path("--workdir", request.workdir)
    tune_cpu()
    programs = {
        "train": train.train,
        "evaluate": evaluate.evaluate,
        "variables": train.inspect,
        "export": _export,
    }
    out, errors = Output(sys.stdout), Output(sys.stderr)  # a training that loses them is saved
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        if request.cluster and request.role in ("worker", "ps"):
            serve(request.cluster, request.startup_timeout)
        else:
            programs[request.mode](request)


def _export(request):
    workdir = Workdir(request.workdir)
    workdir.path.mkdir(parents=True, exist_ok=True)
    folder, weights = workdir / "saved_model", request.weights or workdir / "weights.h5"
    takes = export(weights, folder, request.jit == "on", **request.model_fields)
    print(f"{folder}\n{takes}")
