"""An input, what may be wrong with it, and how an attempt at it ends."""

import dataclasses
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from hypothesis.strategies import SearchStrategy

from rrn.data_prep.failures import error_line

SECONDS = 60  # what takes longer hangs
ERROR, SAME, OTHER = "one error line", "same result", "another right input"
BAD = TRACEBACK, SILENT, UNNAMED, HANG, CHANGED = (
    "traceback",
    "silent acceptance",
    "error that does not name what is wrong",
    "hang",
    "another file changed",
)


@dataclasses.dataclass(frozen=True)
class Change:
    """A way to make an input wrong.

    Attributes:
      apply: changes the input at a path.
      names: the error must have one of these words; () for the input's own name.
      wrong: whether the changed input must be noticed. If not, it may be another right input, as a
        text in which a word has changed.
      words: what is done, to be shown.
    """

    apply: Callable[[Path], object]
    names: tuple[str, ...] = ()
    wrong: bool = True
    words: str = ""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
      file: the name of the input, which may be a folder.
      write: writes a right one to a path.
      read: reads it with the program; the result can be compared. Output goes to the folder `out`
        beside the input.
      changes: how it may become wrong.
      share: how many inputs of the kind are tried while one of each other kind is.
    """

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    changes: SearchStrategy[Change]
    share: float = 1.0


def attempt(kind: Kind, folder: Path, expected: object, change: Change) -> tuple[str, str]:
    """Changes the input in a folder, reads it, and puts it back.

    Args:
      kind: the kind of the input.
      folder: the folder that holds a right one.
      expected: the right one's result.
      change: what is done to it.

    Returns:
      How it ended, and what was said.
    """
    path = folder / kind.file
    right = _files(folder)
    change.apply(path)
    try:
        outcome, said = _read(kind, path, expected, change)
        found = _files(folder)
    finally:
        _put_back(path, right)
    others = [file for file in right.keys() | found.keys() if not file.is_relative_to(path)]
    changed = any(right.get(file) != found.get(file) for file in others)
    return (CHANGED if changed else outcome), said


def _read(kind, path, expected, change):
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(SECONDS)
    try:
        if kind.read(path) == expected:
            return SAME, ""
        return (SILENT if change.wrong else OTHER), ""
    except TimeoutError:
        return HANG, ""
    except BaseException as error:
        line = error_line(error)
        own = str(error).rstrip().splitlines()
        if line is None or any(part[:1] != " " for part in own[1:]):
            return TRACEBACK, repr(error)
        names = change.names or (path.name.split(".")[0],)
        return (ERROR if any(name in line for name in names) else UNNAMED), line
    finally:
        signal.alarm(0)


def _hang(*_):
    raise TimeoutError


def _files(folder: Path) -> dict[Path, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file: file.read_bytes() for file in files if folder / "out" not in file.parents}


def _put_back(path: Path, right: dict[Path, bytes]) -> None:
    """Makes the input, a file or a folder, what it was."""
    if path.is_dir():
        shutil.rmtree(path)
    for file, content in right.items():
        if file.is_relative_to(path):
            os.makedirs(file.parent, exist_ok=True)
            file.write_bytes(content)
