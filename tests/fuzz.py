"""Tries damaged inputs: `python -m tests.fuzz --minutes 5 --seed 1`.

A small input is written and damaged at random, or a value is replaced by a wrong one, and a command
reads it. The command must end in one error line that names what is wrong, or in the result of the
undamaged input. No other file may change. A text has no checksum, so that a damaged text may be
another right one.
"""

import argparse
import collections
import dataclasses
import io
import os
import random
import resource
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import h5py
import numpy as np

from rrn.config_file import read_config
from rrn.data_prep import hdf5
from rrn.data_prep.__main__ import main as data_prep
from rrn.data_prep.failures import exit_status
from rrn.models import publish
from tests.helpers import ROOT

SECONDS, MEMORY = 60, 4 << 30  # what takes more is a fault
GOOD = SAME, ERROR, OTHER = "same result", "one error line", "another right input"
BAD = WRONG, UNNAMED, SILENT, CHANGED = (
    "traceback, signal or hang",
    "error that does not name what is wrong",
    "silent acceptance",
    "another file changed",
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
      file: its name, of a file or a folder.
      write: writes a right one to a path.
      read: a command that reads it, and writes what it makes to a file: its exit status.
      checked: whether a damaged one must be noticed, or have the same result.
    """

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path, Path], int]
    checked: bool = True


def damage(content: bytes, rng: random.Random) -> bytes:
    """Returns the content with one kind of damage: bits, bytes, a cut, zeros, a shift."""
    changed, place = bytearray(content), rng.randrange(len(content))
    kind = rng.randrange(6)
    if kind == 0:
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        for _ in range(rng.randrange(2, 20)):
            changed[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == 2:
        del changed[place:]
    elif kind == 3:
        length = min(rng.choice([1, 16, 512]), len(content) - place)
        changed[place : place + length] = bytes(length)
    elif kind == 4:
        del changed[place : place + rng.randrange(1, 64)]
    else:
        changed[place:place] = content[: rng.randrange(1, 64)]
    return bytes(changed)


def forked(function: Callable[[], int]) -> tuple[int, str]:
    """Runs a function in a fork of this process: (exit status, what it wrote to stderr)."""
    with tempfile.TemporaryFile("w+") as said:
        if not (pid := os.fork()):
            status = 70  # of a traceback
            try:
                os.dup2(said.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                pages = int(Path("/proc/self/statm").read_text().split()[0])
                resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + MEMORY,) * 2)
                signal.alarm(SECONDS)
                status = function()
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said.seek(0)
        return status, said.read()


def take(out: Path) -> object:
    """What a command has made: the data of a prepared file, else the bytes; None if nothing."""
    if not out.exists():
        return None
    try:
        with h5py.File(out) as file:
            names = []
            file.visit(names.append)
            found = {n: file[n][()].tolist() for n in names if isinstance(file[n], h5py.Dataset)}
    except OSError:
        found = out.read_bytes()
    out.unlink()
    return found


def attempt(kind: Kind, folder: Path, expected: object, rng: random.Random) -> tuple[str, str]:
    """Damages the input in a folder, reads it, and puts it back: (outcome, what was said)."""
    path, out = folder / kind.file, folder / "out"
    before = contents(folder)
    chosen = rng.choice(sorted(path.iterdir())) if path.is_dir() else path
    chosen.write_bytes(damage(chosen.read_bytes(), rng))
    status, said = forked(lambda: kind.read(path, out))
    made = take(out)
    chosen.write_bytes(before[chosen])
    lines = [line for line in said.splitlines() if line[:1] != " "]
    if contents(folder) != before:
        return CHANGED, said
    if status == 0:
        return (SAME if made == expected else SILENT if kind.checked else OTHER), said
    if status not in (1, 2) or len(lines) != 1 or not lines[0].startswith("error: "):
        return WRONG, f"status {status}: {said}"
    named = any(name in said for name in (path.name, chosen.name))
    return (ERROR if named else UNNAMED), said


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


STORY = "1 Mary moved to the bathroom.\n2 John got the milk.\n3 Where is Mary? \tbathroom\t1\n"
SPLITS = "train", "valid", "test"


def write_archive(path):
    with tarfile.open(path, "w:gz") as archive:
        for split in SPLITS:
            member = tarfile.TarInfo(f"top/en-valid-10k/qa1_{split}.txt")
            member.size = len(STORY)
            archive.addfile(member, io.BytesIO(STORY.encode()))


def write_texts(path):
    path.mkdir()
    for split in SPLITS:
        (path / f"qa1_{split}.txt").write_text(STORY)


def write_digits(path):
    image, label = np.full([9, 28, 28], 7, np.uint8), np.arange(9, dtype=np.uint8)
    np.savez(path, x_train=image, y_train=label, x_test=image, y_test=label)


def write_puzzles(path):
    prepared = path.with_suffix(".h5")
    prepare("sudoku", "--generate", 20, *PER_LEVEL)(None, prepared)
    with h5py.File(prepared) as file:
        boards = np.concatenate([file[f"{split}/pool"][()] for split in SPLITS])
    path.write_text("".join("".join(map(str, board)) + "\n" for board in boards))
    prepared.unlink()


def prepare(*words):
    """A command of data_prep, which reads the path given as None."""
    return lambda path, out: data_prep(
        [str(path if word is None else word) for word in (*words, "--out", out)]
    )


def read_config_file(path, out):
    return exit_status(lambda: out.write_text(read_config(f"{path}:test").model_dump_json()))


PER_LEVEL = "--train_per_level=1", "--valid_per_level=1", "--test_per_level=1"
KINDS = {
    "bAbI archive": Kind(
        "babi.tar.gz", write_archive, prepare("babi", "--source", None, "--tasks", 1)
    ),
    "bAbI texts": Kind(
        "en-valid-10k", write_texts, prepare("babi", "--source", None, "--tasks", 1), False
    ),
    "digits": Kind("mnist.npz", write_digits, prepare("mnist", "--source", None, "--valid", 2)),
    "puzzles": Kind(
        "puzzles.txt", write_puzzles, prepare("sudoku", "--clues", None, *PER_LEVEL), False
    ),
    "prepared file": Kind(
        "prepared.h5",
        lambda path: prepare("mnist", "--rendered", "--counts=4,2", "--valid=2")(None, path),
        lambda path, out: exit_status(lambda: hdf5.read(path)),
    ),
    "weights": Kind(
        "weights.h5",
        lambda path: shutil.copy(ROOT / "pretrained/sudoku_candidates.h5", path),
        lambda path, out: publish.main([str(path), f"--out={out}"]),
    ),
    "config file": Kind(
        "mine.py",
        lambda path: shutil.copy(ROOT / "configs/ages.py", path),
        read_config_file,
        False,
    ),
}

NUMBERS = "model.hidden_size", "model.num_steps", "train.batch_size", "train.l2", "seed"
CHOICES = "task", "model.compute_dtype", "train.optimizer", "train.schedule", "train.stages"
FIELDS = {  # of a config -> wrong values
    **{name: ["nan", "inf", "-1", "1" + 20 * "0", "x", "", "[1]", "1e999"] for name in NUMBERS},
    **{name: ["", "nothing", "0", "/", "(1,)"] for name in CHOICES},
    "model.nothing": ["1"],
}


def try_field(field: str, value: str) -> tuple[str, str]:
    """Reads a config with a wrong value of a field: (outcome, what was said)."""
    changes = [(field, value)]
    status, said = forked(
        lambda: exit_status(lambda: read_config(f"{ROOT}/configs/babi.py", changes))
    )
    if status == 0:
        return SILENT, said
    if status not in (1, 2) or not said.startswith("error: ") or "Traceback" in said:
        return WRONG, said
    return (ERROR if field.rpartition(".")[2] in said else UNNAMED), said


def campaign(
    seed: int, minutes: float, names: list[str], count: int = 10**9
) -> dict[str, collections.Counter]:
    """Tries `count` inputs of each kind in turn, and once the fields; prints what goes wrong."""
    counts = collections.defaultdict(collections.Counter)

    def note(name, number, outcome, said):
        counts[name][outcome] += 1
        if outcome in BAD:
            print(f"{name} {number}: {outcome}: {said}", flush=True)

    for field, values in FIELDS.items():
        for value in values:
            note("config's fields", f"{field}={value}", *try_field(field, value))
    with tempfile.TemporaryDirectory() as top:
        expected, end = {}, time.monotonic() + 60 * minutes
        for name in names:
            kind, folder = KINDS[name], Path(top, name)
            folder.mkdir()
            kind.write(folder / kind.file)
            assert kind.read(folder / kind.file, folder / "out") == 0
            expected[name] = take(folder / "out")
        for number in range(count):
            for name in names:
                if time.monotonic() > end:
                    return counts
                rng = random.Random(f"{seed} {name} {number}")
                note(name, number, *attempt(KINDS[name], Path(top, name), expected[name], rng))
    return counts


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    found.add_argument("--minutes", type=float, default=5.0)
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--kind", action="append", choices=KINDS, help="all if not given")
    return found


def main() -> int:
    options = parser().parse_args()
    counts = campaign(options.seed, options.minutes, options.kind or list(KINDS))
    for name, of in counts.items():
        print(f"{name}: {', '.join(f'{number:,} {outcome}' for outcome, number in of.items())}")
    return int(any(outcome in BAD for of in counts.values() for outcome in of))


if __name__ == "__main__":
    sys.exit(main())
