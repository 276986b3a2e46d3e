"""Trains, evaluates, exports or shows a recurrent relational network.

    python main.py --config configs/babi.py --devices 0,1,2,3
    python main.py --config configs/babi.py:quick --config.train.learning_rate=1e-3

An installed package has it as the command `rrn`.
"""

import ast
import gc
import os
import re
import shutil
import sys
from typing import NoReturn

# TensorFlow reads this when it is imported. Its errors come as exceptions.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0" if "--verbosity=1" in sys.argv else "3")

# Imports and tracing make many objects that stay; Python would look for garbage among them often.
gc.set_threshold(100_000)

from absl import app, flags, logging

from rrn.config_file import UsageError, read_config, run_name, split_arguments
from rrn.data_prep.failures import error_line, escape_output
from rrn.distribute.cluster import find_cluster
from rrn.training import Request, run
from rrn.training.request import MODES

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USAGE = 2  # the exit status for flags that cannot be read; that of all other errors is 1


def end(what, status=1) -> NoReturn:
    """Ends the program with one line; with --verbosity=1 the traceback of what was raised stays."""
    if (flags.FLAGS["verbosity"].value or 0) > 0 and sys.exc_info()[0]:
        raise
    print(f"error: {what}", file=sys.stderr)
    sys.exit(status)


def parse_flags(argv):
    """Reads the flags; returns the changes of config fields, (field, value) as texts."""
    flags.FLAGS.unparse_flags()  # those of an earlier call in this process
    try:
        argv, changes = split_arguments(argv)
        arguments = flags.FLAGS(argv)
    except (flags.Error, UsageError) as error:
        end(str(error).strip().removeprefix("flag "), USAGE)
    if len(arguments) > 1:
        end(f"unexpected arguments: {' '.join(arguments[1:])}; flags begin with --", USAGE)
    for name in "workdir", "weights", "local_cluster":
        if flags.FLAGS[name].value == "":  # a variable of the shell that is not set
            end(f"--{name}=: empty; give a value, or leave the flag out", USAGE)
    if flags.FLAGS["verbosity"].using_default_value:  # app.run would make it INFO
        logging.set_verbosity(logging.WARNING)  # TensorFlow's notes on each checkpoint are many
    return changes


CONFIG = flags.DEFINE_string(
    "config",
    "configs/babi.py",
    "The experiment, FILE or FILE:VARIANT; --config.FIELD=VALUE changes it.",
)
DEVICES = flags.DEFINE_string(
    "devices",
    "auto",
    "auto, cpu, cpu:N, gpu, gpu:N (of the first GPU), or GPU numbers such as 0,1: one tower each.",
)
JIT = flags.DEFINE_enum(
    "jit",
    "auto",
    ["auto", "on", "off"],
    "Whether XLA compiles what runs on the towers; auto: on GPUs.",
)
WORKDIR = flags.DEFINE_string("workdir", None, "Where results go; runs/<config> if not given.")
WEIGHTS = flags.DEFINE_string(
    "weights",
    None,
    "Start from this weights file; evaluate or export it: its model, whatever the config's.",
)
MODE = flags.DEFINE_enum(
    "mode",
    "train",
    MODES,
    "Train and evaluate, evaluate, list variables, or write a SavedModel of the weights.",
)
LOCAL_CLUSTER = flags.DEFINE_string(
    "local_cluster", None, "Train on processes of this machine: ps=2,worker=7."
)
SYNC = flags.DEFINE_bool(
    "sync",
    True,
    "One update from all workers' or devices' gradients, or (--nosync) each by itself.",
)
REPLICAS_TO_AGGREGATE = flags.DEFINE_integer(
    "replicas_to_aggregate",
    0,
    "With --sync: average the first N gradients, drop what is late; 0: one of each worker.",
    lower_bound=0,
    upper_bound=256,
)
STARTUP_TIMEOUT = flags.DEFINE_float(
    "startup_timeout",
    60.0,
    "Seconds in which a cluster's processes must have found each other.",
    lower_bound=0.1,
    upper_bound=86_400.0,
)
RESTART = flags.DEFINE_bool(
    "restart", False, "Train from the start; what is in the workdir moves to a new folder there."
)
PROFILE = flags.DEFINE_integer(
    "profile",
    0,
    "Record up to N updates, after the first two, for TensorBoard's profiler; 0: none.",
    lower_bound=0,
    upper_bound=1_000,  # a profile of more is too large to be looked at
)


def main(changes):
    """Runs what the flags ask for, with these changes of the config."""
    name = CONFIG.value.removeprefix(f"{ROOT}/")
    workdir = WORKDIR.value or f"runs/{run_name(name)}"
    try:
        config = read_config(CONFIG.value, changes)
        # Of an item, such as model.hole[0], the whole field.
        of_model = [re.match(r"model\.(\w+)", field) for field, _ in changes]
        fields = [match[1] for match in of_model if match]
        whole = [value for field, value in changes if field == "model"]
        fields += [field for value in whole for field in ast.literal_eval(value)]
        request = Request(
            config=config,
            name=name,
            workdir=workdir,
            mode=MODE.value,
            devices=DEVICES.value,
            weights=WEIGHTS.value,
            model_fields={field: getattr(config.model, field) for field in fields},
            cluster=find_cluster(LOCAL_CLUSTER.value),
            sync=SYNC.value,
            replicas_to_aggregate=REPLICAS_TO_AGGREGATE.value,
            startup_timeout=STARTUP_TIMEOUT.value,
            restart=RESTART.value,
            jit=JIT.value,
            profile=PROFILE.value,
        )
        run(request)
    except UsageError as error:
        end(error, USAGE)
    except (KeyboardInterrupt, SystemError) as error:
        # In training it is a request to save and stop; in tracing it may come as a SystemError.
        if isinstance(error, SystemError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        resumes = "; the same command resumes from the last checkpoint"
        end(f"interrupted{resumes if MODE.value == 'train' else ''}", 130)
    except Exception as error:
        if (line := error_line(error)) is None:
            raise
        end(line.removeprefix("error: "))


def start() -> None:
    """Runs the program with the command line's arguments."""
    escape_output()
    columns = shutil.get_terminal_size().columns
    os.environ["COLUMNS"] = str(max(columns, 40))  # absl's help needs some
    for flag in flags.FLAGS.get_key_flags_for_module(__name__):  # for --help
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)
    app.run(main, flags_parser=parse_flags)


if __name__ == "__main__":
    start()
