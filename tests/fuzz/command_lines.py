"""Command lines: a config's fields and the flags of main.py, and the options of data_prep.

An input is a text file with the words of a command line as JSON. main.py runs as far as its start,
which must notice what is wrong.
"""

import importlib
import json
import os
import sys

from absl import app, flags
from hypothesis import strategies as st

from rrn.data_prep.__main__ import main as data_prep
from rrn.training import start
from tests.fuzz.attempts import Change, Kind
from tests.fuzz.commands import succeed
from tests.fuzz.contents import write_babi
from tests.helpers import ROOT

# Wrong for every number of a config, for every size, and for every choice
NO_NUMBER = ["nan", "inf", "-inf", "-1", "1" + 20 * "0", "x", "", "None", "[1]", "--", "1e999"]
NO_SIZE = [*NO_NUMBER, "0", "1000000000", "2.5", "-0.1", "1e9", "True"]
NO_CHOICE = ["", "nothing", "Adam", "0", "None", "/"]
WRONG_FIELDS = {
    **{
        f"model.{name}": NO_SIZE
        for name in (
            *("embedding_size", "encoding_size", "hidden_size", "max_facts", "num_steps"),
            "num_parts",
        )
    },
    **{
        f"train.{name}": NO_NUMBER
        for name in ("num_updates", "learning_rate", "schedule.warmup_updates", "l2", "clip_norm")
    },
    **{
        name: [*NO_NUMBER, "1.5", "-0.001"]
        for name in ("model.readout_dropout", "train.ema_decay", "train.error_share")
    },
    **{
        f"train.{name}": [*NO_NUMBER, "0", "0.5"]
        for name in ("batch_size", "evaluate_every_updates", "log_every_updates")
    },
    "train.error_power": [*NO_NUMBER, "-0.001", "11"],
    "train.checkpoint_every_updates": [*NO_NUMBER, "0", "2.5"],
    "evaluate.batch_size": NO_SIZE,
    "evaluate.passes": NO_SIZE,
    "seed": NO_NUMBER,
    "task": NO_CHOICE,
    "model.compute_dtype": NO_CHOICE,
    "model.nothing": ["1"],
    "train.optimizer": NO_CHOICE,
    "train.schedule": NO_CHOICE,
    "train.stages": ["1", "x", "(1,)", "({'loss': 1},)"],
    "evaluate.split": NO_CHOICE,
    "variables.policy": NO_CHOICE,
    "variables.policy.axis": NO_CHOICE,
    "data.path": ["", "/", "nothing.h5", "/dev/null", "main.py", "configs"],
    "evaluate.path": ["/", "nothing.h5", "/dev/null", "main.py", "configs"],
}
WRONG_FLAGS = {
    "devices": [
        "",
        "tpu",
        "gpu:0",
        "cpu:0",
        "cpu:-1",
        "cpu:1000",
        "0,0",
        "0,",
        "-1",
        "1e9",
        "cpu:" + "9" * 30,
    ],
    "workdir": ["", "/dev/null", "/dev/null/run", "/proc/nothing", "main.py/run", "x" * 300],
    "weights": ["", "/", "nothing.h5", "configs", "/dev/null", "main.py", "x" * 300],
    "mode": ["", "dance", "Train", "0"],
    "local_cluster": ["", "ps=1", "worker=0", "ps=-1,worker=1", "worker=1,ps", "worker=99999"],
    "startup_timeout": ["0", "-1", "nan", "inf", "x", "1e9", ""],
    "replicas_to_aggregate": ["-1", "1", "x", "1.5", "99999999999999999999"],
    "config": ["", "nothing.py", "configs", "configs/babi.py:nothing", "README.md", "/dev/null"],
    "nothing": ["1"],
    "restart": ["perhaps"],
    "sync": ["perhaps", "0.5"],
}
NO_COUNT = ["-1", "0", "1.5", "x", "", "nan", "1" + 20 * "0", "1000000000000"]
NO_SEED = ["-1", "1.5", "x", "", "nan"]
NO_OUT = ["/", "/dev/null/x.h5", "/proc/x.h5", f"{ROOT}/main.py/x.h5", f"{ROOT}/configs", ""]
WRONG_OPTIONS = {
    "babi --source simulated --stories 20 --tasks 1": {
        "--stories": NO_COUNT,
        "--tasks": ["0", "21", "-1", "1,1,x", "", ",", "1.5"],
        "--folder": ["", "de"],
        "--answer": ["", "all"],
        "--source": ["/", "/dev/null", "nothing.tar.gz", "http://", "main.py", "configs"],
        "--supplement": ["x", "simulated:0", "simulated:99", ""],
        "--sha256": ["x", ""],
        "--text": ["/dev/null", "/proc/x", f"{ROOT}/main.py"],
        "--seed": NO_SEED,
        "--out": NO_OUT,
    },
    "sudoku": {
        "--generate": NO_COUNT,
        "--clues": ["", "/", "/dev/null", "nothing.txt", "README.md", "data"],
    },
    "sudoku --generate 6": {
        **{f"--{split}_per_level": NO_COUNT for split in ("train", "valid", "test")},
        **{f"--{split}_pool": NO_COUNT for split in ("valid", "test")},
        "--seed": NO_SEED,
        "--out": NO_OUT,
    },
    "pretty_clevr --scenes 4,2,2": {
        "--scenes": ["", "1", "1,2", "1,2,3,4", "0,1,1", "-1,1,1", "x,1,1", "1,1,1e12", "1," * 9],
        "--images": ["0", "-1", "15", "x", "1.5", "1000000000"],
        "--seed": NO_SEED,
        "--out": NO_OUT,
    },
    "ages": {"--valid": [*NO_COUNT, "262144"], "--seed": NO_SEED, "--out": NO_OUT},
    "mnist --rendered --counts 6,3 --valid 2": {
        "--valid": [*NO_COUNT, "6", "7"],
        "--counts": ["", "1", "0,1", "-1,1", "x,1", "1,1,1", "1000000000000,1"],
        "--seed": NO_SEED,
        "--out": NO_OUT,
    },
    "mnist": {"--source": ["/", "/dev/null", "nothing.npz", "README.md", "data"]},
    "check": {"": ["", "/", "/dev/null", "nothing.h5", "main.py", "README.md"]},
}


def _is_ours(flag):
    return str(flags.FLAGS.find_module_defining_flag(flag)).startswith("rrn.")


def _start_main(path):
    return start_main(json.loads(path.read_text()), path.parent / "out")


def start_main(words, out):
    """main.py with some words, as far as it goes without TensorFlow; returns the words."""

    def run():
        os.chdir(ROOT)
        os.environ.pop("TF_CONFIG", None)
        sys.argv = ["main.py", f"--workdir={out / 'run'}", *words]
        start.carry_out = lambda *arguments: None
        for name in [name for name in flags.FLAGS if _is_ours(name)]:
            delattr(flags.FLAGS, name)  # of another command of the project, in this fork alone
        sys.modules.pop("rrn.main", None)  # which has declared these flags, if it is there
        main = importlib.import_module("rrn.main")
        app.run(main.main, flags_parser=main.parse_flags)

    succeed(run)
    return words


def _write_main(path):
    data = path.parent / "out" / "babi.h5"
    data.parent.mkdir()
    write_babi(data)
    path.write_text(json.dumps(["--config=configs/babi.py:test", f"--config.data.path={data}"]))


def _write_options(path):
    (path.parent / "out").mkdir()
    path.write_text(json.dumps(["mnist", "--rendered", "--counts", "6,3", "--valid", "2"]))


def _run_data_prep(path):
    words = json.loads(path.read_text())
    out = path.parent / "out" / "new.h5"
    out.unlink(missing_ok=True)
    words = words if "check" in words else [words[0], "--out", str(out), *words[1:]]
    succeed(lambda: (os.chdir(path.parent / "out"), data_prep(words))[1])
    return words


def _add(option, value):
    """Adds an option, or a word where `option` is empty, to the words of a command line."""

    def apply(path):
        added = [f"{option}={value}" if option else value]
        path.write_text(json.dumps(json.loads(path.read_text()) + added))

    own = option.removeprefix("--").removeprefix("config.")
    path = f"{value or '.'}:"
    names = [own, own.rpartition(".")[2], path, value if len(value) > 3 else ""]
    return Change(apply, tuple(filter(None, names)), words=f"{option}={value}")


def _one_of(wrong, prefix=""):
    """Changes from a table, option -> its wrong values."""
    pairs = [(f"{prefix}{name}", value) for name, values in wrong.items() for value in values]
    return st.sampled_from(pairs).map(lambda pair: _add(*pair))


def _command(words, wrong):
    """Options of a command of data_prep; several wrong ones at once, too."""
    changes = st.lists(_one_of(wrong), min_size=1, max_size=2).map(_all)
    return st.builds(lambda change: _instead(words.split(), change), changes)


def _all(changes):
    def apply(path):
        for change in changes:
            change.apply(path)

    names = tuple(name for change in changes for name in change.names)
    return Change(apply, names, words=" ".join(change.words for change in changes))


def _instead(words, change):
    def apply(path):
        path.write_text(json.dumps(words))
        change.apply(path)

    return Change(apply, change.names, words=" ".join([*words, change.words]))


KINDS = {
    "config's fields": Kind(
        "main.json", _write_main, _start_main, _one_of(WRONG_FIELDS, "--config."), share=0.3
    ),
    "flags": Kind("main.json", _write_main, _start_main, _one_of(WRONG_FLAGS, "--"), 0.2),
    "data_prep's options": Kind(
        "data_prep.json",
        _write_options,
        _run_data_prep,
        st.one_of([_command(words, wrong) for words, wrong in WRONG_OPTIONS.items()]),
        share=0.2,
    ),
}
