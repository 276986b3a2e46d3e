"""The solutions of a list of puzzles, as a file that is written while they are found.

Whoever stops the work loses nothing that is done, and the same command goes on from there.
"""

import hashlib
import mmap
import re
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from rrn.data_prep.sudoku.solver import IN_WORDS
from rrn.data_prep.writing import whole, writing

if TYPE_CHECKING:
    from rrn.tasks.sudoku.application.boards import Solutions

NAME = "solutions.txt"
_REMARKS = "|".join(re.escape(f" {words}") for number, words in IN_WORDS.items() if number != 1)
_LINE = re.compile(
    rb"(?P<number>[1-9]\d{0,17}) "
    rb"(?P<text>[.\d]{81} \d{81} (?P<valid>valid|invalid) [01]\.\d{4}(?P<remark>%b)\n)"
    % f"(?:{_REMARKS})?".encode()
)


class Listing:
    """The file `solutions.txt`, which appears when all puzzles of a list are done.

    A line is a puzzle, its solution, "valid" or "invalid", the lowest probability of a digit, and,
    of a puzzle that has not exactly one solution, what the exact solver says.

    Until then the lines are in a file beside it, in the order in which they were found, each after
    the puzzle's number in the list. The name of that file is made from the puzzles and from all
    that the solutions depend on, so no other command goes on with it.

    Args:
      folder: where the file goes.
      puzzles: digits `[n, 81]`, 0 for a blank.
      settings: what the solutions depend on besides.

    Attributes:
      path: the file of the lines that are done.
      num_valid: how many of their solutions are valid.
      remarks: how many of their puzzles have no solution, or more than one, or a number of
        solutions that is not known, in words.

    Raises:
      OSError: the file cannot be opened.
      ValueError: another process writes it.
    """

    def __init__(self, folder: Path, puzzles: np.ndarray, settings: bytes):
        digest = hashlib.sha256(puzzles.tobytes() + settings).hexdigest()
        self._folder, self._puzzles = folder, puzzles
        self.path = folder / f"{NAME}.{digest[:12]}.part"
        # Of each puzzle, where the line after its number begins and ends in the file.
        self._begins = np.zeros([len(puzzles)], np.int64)
        self._ends = np.zeros_like(self._begins)
        self.num_valid, self.remarks = 0, dict.fromkeys(IN_WORDS.values(), 0)
        self._file = self.path.open("a+b", buffering=0)  # a line is there as soon as it is written
        self._size = 0
        self._lock()
        self._go_on()

    def __enter__(self) -> "Listing":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def _lock(self):
        """Keeps other processes out, where the file system has locks, until the file is closed."""
        import fcntl  # which Windows lacks, where this module can be imported

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise ValueError(
                f"{self.path}: another process solves this list there; wait for it, or give "
                "another --out"
            ) from None
        except OSError:  # the file system has none
            pass

    def _go_on(self):
        """Takes note of the lines that are there, and cuts away what is no whole line."""
        with self.path.open("rb") as file:
            whole = all(map(self._note, file))
        if not whole:
            self._file.truncate(self._size)

    def _note(self, line):
        """Takes note of a line after the others. Returns whether it is one."""
        parts = _LINE.fullmatch(line)
        if not parts or int(parts["number"]) > len(self._puzzles):
            return False
        index = int(parts["number"]) - 1
        self._begins[index] = self._size + parts.start("text")
        self._size += len(line)
        self._ends[index] = self._size
        self.num_valid += parts["valid"] == b"valid"
        self.remarks[parts["remark"].decode().strip() or IN_WORDS[1]] += 1
        return True

    @property
    def left(self) -> np.ndarray:
        """The indices of the puzzles that are not done."""
        return np.flatnonzero(self._ends == 0)

    def add(self, indices: np.ndarray, found: "Solutions") -> None:
        """Writes solutions.

        Args:
          indices: of which puzzles they are.
          found: the solutions.

        Raises:
          OSError: the disk is full.
        """
        lines = []
        for i, index in enumerate(indices):
            puzzle = "".join(map(str, self._puzzles[index])).replace("0", ".")
            solution = "".join(map(str, found.solutions[i]))
            valid = "valid" if found.valid[i] else "invalid"
            number = found.num_solutions[i]
            remark = "" if number == 1 else f" {IN_WORDS[number]}"
            lowest = found.confidence[i].min()
            lines.append(f"{index + 1} {puzzle} {solution} {valid} {lowest:.4f}{remark}\n".encode())
        with writing(self.path):
            _write_all(self._file, b"".join(lines))
        for line in lines:
            self._note(line)

    def finish(self) -> Path:
        """Writes `solutions.txt`, in the list's order, when all puzzles are done.

        Returns:
          The file.

        Raises:
          OSError: the disk is full.
        """
        path = self._folder / NAME
        with (
            mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as done,
            whole(path) as temporary,
            temporary.open("wb") as file,
        ):
            for begin, end in zip(self._begins.tolist(), self._ends.tolist(), strict=True):
                file.write(done[begin:end])
        self.path.unlink(missing_ok=True)
        return path


def _write_all(file, data):
    """Writes to an unbuffered file, which may take a part at a time."""
    while data:
        data = data[file.write(data) :]
