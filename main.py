"""Trains, evaluates or shows a recurrent relational network.

python main.py --config configs/babi.py --devices 0,1,2,3
python main.py --config configs/babi.py:quick --config.train.learning_rate=1e-3
"""

import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from absl import app, flags
from ml_collections import config_flags

CONFIG = config_flags.DEFINE_config_file(
    "config", "configs/babi.py", "The experiment, FILE or FILE:VARIANT; --config.FIELD=VALUE changes it."
)
DEVICES = flags.DEFINE_string(
    "devices", "auto", "auto, cpu, cpu:N, or GPU numbers such as 0,1,2,3: one tower each."
)
WORKDIR = flags.DEFINE_string("workdir", None, "Where results go; runs/<config> if not given.")
WEIGHTS = flags.DEFINE_string("weights", None, "Start from, or evaluate, this weights file.")
MODE = flags.DEFINE_enum(
    "mode", "train", ["train", "evaluate", "variables"], "Train and evaluate, evaluate, or list variables."
)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {' '.join(argv[1:])}")
    from rrn.training.experiment import run  # imports TensorFlow; --help need not wait for it

    name = config_flags.get_config_filename(flags.FLAGS["config"])
    workdir = WORKDIR.value or "runs/" + re.sub(r"\.py:?", "_", os.path.basename(name)).strip("_")
    try:
        return run(CONFIG.value, name, MODE.value, DEVICES.value, workdir, WEIGHTS.value)
    except ValueError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    app.run(main)
