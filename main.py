"""Trains, evaluates or shows a recurrent relational network.

python main.py --config configs/babi.py --devices 0,1,2,3
python main.py --config configs/babi.py:quick --config.train.learning_rate=1e-3
"""

import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors come as exceptions

from absl import app, flags, logging
from ml_collections import config_flags


def flag_error(error):
    """Ends the program; the last line of a config file's error is what its `get_config` raised."""
    what = str(error).strip().splitlines()[-1].strip().removeprefix("ValueError: ")
    if isinstance(error, (AttributeError, LookupError)):
        what = f"no such field in the config: {what}"
    sys.exit(f"error: {what}")


def parse_flags(argv):
    if re.search(r" --?(mode[ =]solve|puzzle)\b", " ".join(argv)):
        sys.exit("error: `python -m rrn.tasks.sudoku PUZZLE` solves Sudoku puzzles, not main.py")
    try:
        arguments = flags.FLAGS(argv)
        if flags.FLAGS["verbosity"].using_default_value:  # app.run would make it INFO
            logging.set_verbosity(logging.WARNING)  # TensorFlow's notes on each checkpoint are many
        _ = CONFIG.value.task  # fails here if there is no such file
        return arguments
    except (flags.Error, AttributeError, LookupError, OSError) as error:
        flag_error(error)


try:  # with fields of the default config on the command line, this reads them
    CONFIG = config_flags.DEFINE_config_file(
        "config",
        "configs/babi.py",
        "The experiment, FILE or FILE:VARIANT; --config.FIELD=VALUE changes it.",
    )
except (AttributeError, LookupError) as error:
    flag_error(error)
DEVICES = flags.DEFINE_string(
    "devices", "auto", "auto, cpu, cpu:N, or GPU numbers such as 0,1,2,3: one tower each."
)
WORKDIR = flags.DEFINE_string("workdir", None, "Where results go; runs/<config> if not given.")
WEIGHTS = flags.DEFINE_string(
    "weights",
    None,
    "Start from this weights file, or evaluate it.",
)
MODE = flags.DEFINE_enum(
    "mode",
    "train",
    ["train", "evaluate", "variables"],
    "Train and evaluate, evaluate, or list variables.",
)
LOCAL_CLUSTER = flags.DEFINE_string(
    "local_cluster", None, "Train on processes of this machine: ps=2,worker=7."
)
SYNC = flags.DEFINE_bool(
    "sync",
    True,
    "In a cluster: one update from all workers' gradients, or (--nosync) each worker by itself.",
)
REPLICAS_TO_AGGREGATE = flags.DEFINE_integer(
    "replicas_to_aggregate",
    0,
    "With --sync: average the gradients of the first so many workers, drop the others'; 0: all.",
)
STARTUP_TIMEOUT = flags.DEFINE_float(
    "startup_timeout", 60.0, "Seconds in which a cluster's processes must have found each other."
)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {' '.join(argv[1:])}")
    # These import TensorFlow; --help need not wait for it.
    from rrn.distribute import find_cluster, keep_freed_memory
    from rrn.training import run

    keep_freed_memory()
    name = config_flags.get_config_filename(flags.FLAGS["config"])
    workdir = WORKDIR.value or "runs/" + re.sub(r"\.py:?", "_", os.path.basename(name)).strip("_")
    try:
        return run(
            CONFIG.value,
            name,
            MODE.value,
            DEVICES.value,
            workdir,
            WEIGHTS.value,
            find_cluster(LOCAL_CLUSTER.value),
            sync=SYNC.value,
            replicas_to_aggregate=REPLICAS_TO_AGGREGATE.value,
            startup_timeout=STARTUP_TIMEOUT.value,
        )
    except (ValueError, FloatingPointError, OSError) as error:
        if logging.level_debug():
            raise
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:  # outside of training, where it is a request to save and stop
        sys.exit("interrupted; the same command goes on from the last checkpoint")


if __name__ == "__main__":
    app.run(main, flags_parser=parse_flags)
