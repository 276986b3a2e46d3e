"""Tries damaged inputs: `python -m tests.fuzz --minutes 5 --seed 1`.

An input is written, damaged at random, and read by the program, in this process. It must end in one
error line that names the input, or in the result of the undamaged input. A text has no checksum, so
a changed text may also be another text: it is counted apart. Nothing but the output may change. In
the end the counts stand in a table, and the status is 1 if anything went wrong.
"""

import argparse
import collections
import contextlib
import dataclasses
import io
import json
import random
import signal
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from data_prep import DataError, hdf5
from data_prep.__main__ import main as data_prep
from data_prep.failures import error_line
from data_prep.sudoku import lists

SECONDS = 60  # what takes longer hangs
ERROR, SAME, OTHER = "one error line", "same result", "another text"
BAD = TRACEBACK, SILENT, UNNAMED, HANG, CHANGED = (
    "traceback",
    "silent acceptance",
    "error without the input's name",
    "hang",
    "another file changed",
)
STORY = "1 Mary moved to the bathroom.\n2 John got the milk.\n3 Where is Mary? \tbathroom\t1\n"
PUZZLE = "530070000600195000098000060800060003400803001700020006060000280000419005000080079\n"
PUZZLES = PUZZLE + PUZZLE.translate(str.maketrans("123456789", "234567891"))


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
        file: its name.
        write: writes an undamaged one to a path.
        read: reads it with the program; the result can be compared.
        text: whether it is without a checksum.
    """

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    text: bool = False


def _write_prepared(path):
    arrays = {"train/label": np.arange(4000) % 10, "words": np.array(["a", "b"], object)}
    hdf5.write(path, arrays, {"schema": "s", "version": 1, "notes": "", "seed": 0})


def _read_prepared(path):
    attributes, datasets = hdf5.read(path)
    return attributes, {name: array.tolist() for name, array in datasets.items()}


def _write_archive(path):
    with tarfile.open(path, "w:gz") as archive:
        for split in ("train", "valid", "test"):
            member = tarfile.TarInfo(f"top/en-valid-10k/qa1_{split}.txt")
            member.size = len(STORY)
            archive.addfile(member, io.BytesIO(STORY.encode()))


def _command(*arguments):
    """Runs a command of data_prep; its error line is raised again, without `error: `."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = data_prep([str(argument) for argument in arguments])
    if status:
        raise DataError(said.getvalue().removeprefix("error: ").rstrip("\n"))


def _prepare_babi(path):
    out = path.parent / "out" / "babi.h5"
    _command("babi", "--source", path, "--tasks", "1", "--out", out)
    return _read_prepared(out)[1]


def _prepare_babi_folder(path):
    return _prepare_babi(path.parent)


def _write_babi_folder(path):
    path.parent.mkdir(exist_ok=True)
    for split in ("train", "valid", "test"):
        path.with_name(f"qa1_{split}.txt").write_text(STORY)


def _write_npz(path):
    image, label = np.full([9, 28, 28], 7, np.uint8), np.arange(9, dtype=np.uint8)
    np.savez(path, x_train=image, y_train=label, x_test=image, y_test=label)


def _prepare_mnist(path):
    out = path.parent / "out" / "mnist.h5"
    _command("mnist", "--source", path, "--valid", "2", "--out", out)
    return _read_prepared(out)[1]


def _read_puzzles(path):
    return [array.tolist() for array in lists.read(path)]


KINDS = {
    "prepared file": Kind("prepared.h5", _write_prepared, _read_prepared),
    "bAbI archive": Kind("babi.tar.gz", _write_archive, _prepare_babi),
    "bAbI text": Kind(
        "en-valid-10k/qa1_train.txt", _write_babi_folder, _prepare_babi_folder, text=True
    ),
    "MNIST archive": Kind("mnist.npz", _write_npz, _prepare_mnist),
    "Sudoku list": Kind(
        "puzzles.txt", lambda path: path.write_text(PUZZLES), _read_puzzles, text=True
    ),
}


def damage(content: bytes, rng: random.Random) -> bytes:
    """Returns the content with one kind of damage: bits, a cut, a page of zeros, a shift."""
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


def attempt(kind: Kind, folder: Path, expected: object, rng: random.Random) -> tuple[str, str]:
    """Damages the input in a folder and reads it; `expected` is the undamaged one's result.

    Returns the outcome, and what was said.
    """
    path = folder / kind.file
    content = path.read_bytes()
    before = _others(folder, path)
    path.write_bytes(damage(content, rng))
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(SECONDS)
    try:
        found = kind.read(path)
        outcome = SAME if found == expected else OTHER if kind.text else SILENT
        said = ""
    except TimeoutError:
        outcome, said = HANG, ""
    except BaseException as error:
        said = error_line(error)
        if said is None or "\n" in said:
            outcome, said = TRACEBACK, repr(error)
        else:
            outcome = ERROR if path.name.split(".")[0] in said else UNNAMED
    finally:
        signal.alarm(0)
        path.write_bytes(content)
    return (outcome if before == _others(folder, path) else CHANGED), said


def _others(folder, path):
    files = (file for file in folder.rglob("*") if file.is_file() and file != path)
    return {file: file.read_bytes() for file in files if file.parent.name != "out"}


def _hang(*_):
    raise TimeoutError


def campaign(seed: int, minutes: float, cases: int | None = None) -> dict[str, dict[str, int]]:
    """Tries the kinds in turn until the time is over or so many cases of each are done.

    Args:
        seed: of all damage. The n-th case of a kind is the same whatever the time.
        minutes: the time.
        cases: of each kind; None for as many as the time allows.

    Returns:
        kind -> outcome -> count. What went wrong is printed with its case.
    """
    counts = {name: collections.Counter() for name in KINDS}
    end, case = time.monotonic() + 60 * minutes, 0
    with tempfile.TemporaryDirectory() as top:
        expected = []
        for number, kind in enumerate(KINDS.values()):
            path = Path(top, str(number), kind.file)
            path.parent.mkdir(parents=True)
            kind.write(path)
            expected.append(kind.read(path))
        while time.monotonic() < end and case != cases:
            for number, (name, kind) in enumerate(KINDS.items()):
                rng = random.Random(f"{seed} {name} {case}")
                outcome, said = attempt(kind, Path(top, str(number)), expected[number], rng)
                counts[name][outcome] += 1
                if outcome in BAD:
                    print(f"{name}, seed {seed}, case {case}: {outcome}: {said}", file=sys.stderr)
            case += 1
    return {name: dict(counter) for name, counter in counts.items()}


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    found.add_argument("--minutes", type=float, default=5.0)
    found.add_argument("--seed", type=int, default=0)
    return found


def main() -> int:
    options = parser().parse_args()
    counts = campaign(options.seed, options.minutes)
    print(json.dumps(counts, indent=1))
    print(f"{sum(sum(of.values()) for of in counts.values()):,} inputs, seed {options.seed}")
    return int(any(outcome in BAD for of in counts.values() for outcome in of))


if __name__ == "__main__":
    sys.exit(main())
