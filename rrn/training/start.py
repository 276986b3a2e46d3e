"""How a run starts: what can be known is checked first, and only then TensorFlow loads.

An error at the start comes within a second, and none that was there at the start comes after hours
of training.
"""

import contextlib
import importlib

from rrn.files.weights_file import read_weights
from rrn.training.files import Files, read_files
from rrn.training.identity import RUN, identity
from rrn.training.request import Request
from rrn.training.workdir import Workdir


def run(request: Request) -> None:
    """Trains, evaluates, exports or shows the variables of one experiment.

    Raises:
      ValueError: a config, flag or file does not fit. The message says which, and what would.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
      OSError: a file cannot be read or written, or the system is Windows.
      SystemExit: SIGTERM or SIGHUP has stopped a training, which is saved; 143 or 129.
    """
    request.check()
    files = Files() if request.serves else read_files(request)
    workdir, begins_anew = Workdir(request.workdir), request.trains and request.restart
    goes_on = request.trains and not request.restart
    if goes_on or (request.mode == "evaluate" and request.weights is None):
        _check_run(workdir, request, files)
    with workdir.locked() if request.trains else contextlib.nullcontext():
        if begins_anew and (folder := workdir.set_aside()):
            print(f"the run that was in {workdir.path} is now in {folder}")
        carry_out(request, files)


def _check_run(workdir, request, files):
    """Refuses another run than that in the folder, or parts of one; says if the program differs."""
    run, weights = identity(request.fields, files.data.digest), [files.weights]
    if request.trains:
        workdir.check_can_go_on()
        weights = map(read_weights, sorted(workdir.path.glob("weights*.h5")))
    workdir.check(run, may_be_longer=request.trains)
    for found in weights:
        workdir.check_part(found.path, found.attributes.get(RUN), run)
    if lines := workdir.program_differences(run):
        print("\n".join([f"{workdir.path}: another program has made the run so far:", *lines]))


def carry_out(request: Request, files: Files) -> None:
    """Loads TensorFlow, and runs the program that is asked for.

    Args:
      request: what is asked for, checked.
      files: what was read for it.

    Raises:
      ValueError, ConnectionError, FloatingPointError, SystemExit: see `run`.
    """
    importlib.import_module("rrn.fast_start")  # which imports TensorFlow, as all of these do
    from rrn.distribute import serve, tune_cpu
    from rrn.training.evaluate import evaluate, follow
    from rrn.training.inspect import inspect
    from rrn.training.train import train

    tune_cpu()
    if request.cluster and request.serves:
        serve(request.cluster, request.startup_timeout)
    elif request.trains:
        train(request, files)
    elif request.mode == "train":  # the cluster's evaluator
        follow(request, files)
    elif request.mode == "evaluate":
        evaluate(request, files)
    elif request.mode == "variables":
        inspect(request, files)
    else:
        _export(request, files)


def _export(request, files):
    from rrn.models.export import export

    folder = Workdir(request.workdir) / "saved_model"
    folder.parent.mkdir(parents=True, exist_ok=True)
    takes = export(files.weights, folder, request.jit == "on", **request.model_fields)
    print(f"{folder}\n{takes}")
