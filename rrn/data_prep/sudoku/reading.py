"""The one reader of Sudokus: from files, texts, arrays and nested lists to digits.

`data_prep.sudoku.formats` has the forms that a puzzle may have in a file or a text.
"""

import array
import dataclasses
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.sudoku.formats import BLANKS, find_puzzles
from rrn.data_prep.sudoku.puzzles import (
    PuzzleError,
    contradiction,
    place,
    quoted,
    repeats_digit,
)

STANDARD_INPUT = "-"
BATCH = 8192  # puzzles that are checked together
LONGEST = 1 << 20  # characters of a line
NO_PUZZLE = "expected puzzles, each of 81 characters or nine lines of 9"
NO_TEXT = {  # what a file begins with -> what it is, and what to do
    b"\xff\xfe": "UTF-16 text; expected UTF-8: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; expected UTF-8: save it as UTF-8",
    b"PK\x03\x04": "a zip archive or a spreadsheet; expected text: unpack it, or save it as CSV",
    b"BZh": "compressed by bzip2; expected text, plain or in .gz: bzip2 -d unpacks it",
    b"\xfd7zXZ": "compressed by xz; expected text, plain or in .gz: xz -d unpacks it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; expected text, plain or in .gz: zstd -d unpacks it",
}
_FULL = frozenset("123456789")
_DIGITS = str.maketrans(dict.fromkeys(BLANKS, "0"))


@dataclasses.dataclass(frozen=True)
class Puzzles:
    """Puzzles, and where each was read. Its length is their number.

    Attributes:
      digits: `[puzzles, 81]` uint8, row by row, 0 for a blank.
      lines: `[puzzles]` int32, the number of each puzzle's first line in its file.
      files: the files' names, and the number of puzzles up to the end of each.
      cut: the files whose last line has no end.
    """

    digits: np.ndarray
    lines: np.ndarray
    files: Sequence[tuple[str, int]]
    cut: Sequence[str]

    def __len__(self) -> int:
        return len(self.digits)

    def place(self, index: int) -> str:
        """Returns the file and the line of a puzzle.

        Args:
          index: the puzzle's index.
        """
        file = next(name for name, end in self.files if index < end)
        return f"{file}, line {self.lines[index]}"


def is_file(name: str) -> bool:
    """Returns whether a name is that of something to read: a file, a pipe, `-` for standard input.

    Args:
      name: the name.
    """
    return name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isdir(name))


def read_files(names: Sequence[str | Path]) -> Puzzles:
    """Reads the puzzles of files, 81 bytes of memory for each.

    Args:
      names: the files, plain or compressed by gzip; "-" is standard input.

    Returns:
      The puzzles of all files, one file after the other.

    Raises:
      DataError: a file has no puzzles, is no text or is cut short, or a line is not understood, has
        a digit twice in a unit, or has something beside its puzzle that does not solve it. The
        message names the file and the line.
      OSError: a file cannot be read.
    """
    digits, lines, files, cut = bytearray(), array.array("i"), [], []
    for name in map(str, names):
        text = _Lines(name)
        for found, boards in _batches(text, lambda line, name=name: f"{name}, line {line}"):
            digits += boards.tobytes()
            lines.extend(puzzle.line for puzzle in found)
        if len(lines) == (files[-1][1] if files else 0):
            raise DataError(f"{name}: {'no puzzle' if text.any else 'empty'}; {NO_PUZZLE}")
        files.append((name, len(lines)))
        if not text.ended:
            cut.append(name)
    boards = np.frombuffer(digits, np.uint8).reshape(-1, 81)
    return Puzzles(boards, np.frombuffer(lines, np.int32), files, cut)


def read_text(text: str, name: str) -> np.ndarray:
    """Reads the puzzles of a text.

    Args:
      text: the text, in one of the forms of `data_prep.sudoku.formats`.
      name: what an error calls the text.

    Returns:
      `[puzzles, 81]` uint8, 0 for a blank.

    Raises:
      DataError: see `read_files`.
    """
    lines = text.splitlines()
    many = len(lines) > 1
    batches = _batches(lines, lambda line: f"{name}, line {line}" if many else name)
    boards = [boards for _, boards in batches]
    if not boards:
        raise DataError(f"{name}: {quoted(text)} has no puzzle; {NO_PUZZLE}")
    return np.concatenate(boards)


def read_puzzles(puzzles: Any, name: Callable[[int], str] = "puzzle {}".format) -> np.ndarray:
    """Reads puzzles of any kind that Python has.

    Args:
      puzzles: a text of puzzles; or a `Path`, of a file; or digits, 0 for a blank, as an array or
        nested lists `[81]`, `[9, 9]`, `[n, 81]` or `[n, 9, 9]`; or strings in their places: a text
        for each puzzle or row, or a character for each cell.
      name: what an error calls the i-th puzzle, from 1.

    Returns:
      `[n, 81]` uint8, 0 for a blank.

    Raises:
      DataError: what is wrong, and with which puzzle.
    """
    if isinstance(puzzles, os.PathLike):
        return read_files([Path(puzzles)]).digits
    if isinstance(puzzles, str):
        return read_text(puzzles, name(1))
    boards = _as_array(puzzles)
    if boards.dtype.kind == "U":
        return _from_strings(boards, name)
    if boards.shape[-2:] == (9, 9):
        boards = boards.reshape(*boards.shape[:-2], 81)
    boards = boards[None] if boards.ndim == 1 else boards
    if boards.ndim != 2 or boards.shape[1] != 81 or boards.dtype.kind not in "iu":
        raise DataError(
            "expected strings, or integers [81], [9, 9], [n, 81] or [n, 9, 9]; got "
            f"{boards.dtype} of shape {np.shape(puzzles)}"
        )
    wrong = (boards < 0) | (boards > 9)
    if wrong.any():
        puzzle, cell = np.argwhere(wrong)[0]
        found = boards[puzzle, cell]
        raise DataError(f"{name(puzzle + 1)}: {place(cell)} holds {found}; expected 0 to 9")
    return _without_contradictions(boards.astype(np.uint8), lambda index: name(index + 1))


def _as_array(puzzles):
    try:
        boards = np.asarray(puzzles)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"expected puzzles of one shape, got a list of several ({error})") from None
    if boards.dtype == object and all(isinstance(item, str) for item in boards.flat):
        boards = boards.astype(str)
    if boards.ndim == 0 or boards.size == 0:
        raise DataError(f"expected a list of puzzles or digits [n, 81], got {puzzles!r}")
    return boards


def _from_strings(boards, name):
    """Digits of texts `[n]`, of rows `[9]` or `[n, 9]`, or of cells in the shapes of digits."""
    characters = np.char.str_len(boards)
    if (characters <= 1).all() and boards.size % 81 == 0:
        boards = np.where(characters, boards, ".").reshape(-1, 81)
        texts = ["".join(board) for board in boards]
    elif boards.shape[-1] == 9 and (characters == 9).all():
        texts = ["\n".join(rows) for rows in boards.reshape(-1, 9)]
    elif boards.ndim == 1:
        texts = boards.tolist()
    else:
        raise DataError(
            "expected a string for each puzzle, row or cell, as [n], [n, 9] or [n, 9, 9]; got "
            f"strings of shape {boards.shape}"
        )
    digits = np.empty([len(texts), 81], np.uint8)
    for index, text in enumerate(texts):
        found = read_text(text, name(index + 1))
        if len(found) != 1:
            raise DataError(f"{name(index + 1)}: has {len(found)} puzzles; expected one a string")
        digits[index] = found[0]
    return digits


def _batches(lines, where):
    """Yields puzzles of a text, lists of `Found`, with their digits, checked.

    where: the place of a line, given its number.
    """
    puzzles, wrong, found = find_puzzles(lines), None, []
    while not wrong:
        found = []
        try:
            for puzzle in itertools.islice(puzzles, BATCH):
                found.append(puzzle)
        except PuzzleError as error:  # after those before it are checked
            wrong = error
        if found:
            text = "".join(puzzle.cells for puzzle in found).translate(_DIGITS)
            boards = _digits(text).reshape(-1, 81)
            _without_contradictions(boards, lambda i, found=found: where(found[i].line))
            _check_solutions(found, boards, where)
            yield found, boards
        elif not wrong:
            return
    raise DataError(f"{where(wrong.line)}: {wrong}")


def _digits(text):
    return np.frombuffer(text.encode(), np.uint8) - np.uint8(ord("0"))


def _without_contradictions(boards, where):
    """The boards. Raises DataError where a digit is twice in a row, column or box."""
    wrong = repeats_digit(boards).any(axis=1)
    if wrong.any():
        index = wrong.argmax()
        raise DataError(f"{where(index)}: no solution, {contradiction(boards[index])}")
    return boards


def _check_solutions(found, boards, where):
    """Raises DataError where what is beside a puzzle does not solve it."""
    beside = [i for i, puzzle in enumerate(found) if puzzle.solution]
    texts = [found[i].solution for i in beside]
    if all(len(text) == 81 and set(text) <= _FULL for text in texts):
        givens, solutions = boards[beside], _digits("".join(texts)).reshape(-1, 81)
        fits = ((givens == 0) | (givens == solutions)).all(axis=1)
        if (fits & ~repeats_digit(solutions).any(axis=1)).all():
            return
    for i, text in zip(beside, texts, strict=True):
        if what := _misfit(text, boards[i]):
            raise DataError(f"{where(found[i].line)}: the solution beside the puzzle {what}")


def _misfit(solution, board):
    """Says why a solution's characters do not solve a board; None if they do."""
    if len(solution) != 81 or not set(solution) <= _FULL:
        return f"is {quoted(solution)}; expected 81 digits from 1 to 9"
    digits = _digits(solution)
    other = (board > 0) & (board != digits)
    if other.any():
        cell = other.argmax()
        return f"has {digits[cell]} in {place(cell)}, where the puzzle has {board[cell]}"
    if what := contradiction(digits):
        return f"is none: {what}"
    return None


class _Lines:
    """The lines of a file.

    Attributes:
      any: whether there was a line.
      ended: whether the last line had an end.
    """

    def __init__(self, name):
        self._name, self.any, self.ended = name, False, False

    def __iter__(self) -> Iterator[str]:
        standard = self._name == STANDARD_INPUT
        with open(0 if standard else self._name, "rb", closefd=not standard) as raw:
            start = raw.peek(8)
            for beginning, what in NO_TEXT.items():
                if start.startswith(beginning):
                    raise DataError(f"{self._name}: {what}")
            zipped = start.startswith(b"\x1f\x8b") or self._name.endswith(".gz")
            data = gzip.GzipFile(fileobj=raw) if zipped else raw
            # utf-8-sig leaves the byte order mark away.
            text = io.TextIOWrapper(data, "utf-8-sig", "replace")
            try:
                yield from self._read(text)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(
                    f"{self._name}: not a whole .gz file ({error}); it is cut short, damaged or "
                    "another kind of file: get it again"
                ) from error

    def _read(self, text):
        for number in itertools.count(1):
            line = text.readline(LONGEST)
            if not line:
                return
            if len(line) == LONGEST:
                what = f"has {LONGEST:,} characters or more; expected 81"
                raise PuzzleError(f"{quoted(line)} {what}", number)
            self.any, self.ended = True, line.endswith("\n")
            yield line
