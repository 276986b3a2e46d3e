"""The one reader of Sudokus, in files, texts, arrays and nested lists.

A text has puzzles of 81 characters, each at the beginning of a line. Or each has nine lines of nine
characters, also with spaces and `|` between them, and ruled lines between the bands. Or the text is
a table (CSV), whose heading has a column `puzzle`, `quiz` or `question`, or one of their plurals.
Blank lines and those that begin with `#` are skipped, and so is what follows 81 characters.
"""

import array
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.sudoku.puzzles import contradiction, place, quoted, repeats_digit

STANDARD_INPUT = "-"
BLANKS = ".0*-_xX"
BATCH = 8192  # puzzles that are checked together
LONGEST = 1 << 16  # characters of a line; longer ones are read in pieces, which are no puzzles
EXPECTED = (
    "expected 81 characters, digits and . or 0 for a blank; or nine lines of 9; or a CSV heading "
    "with a column puzzle, quiz or question"
)
_PUZZLE = re.compile(rf"([1-9{re.escape(BLANKS)}]{{81}})([\s,;#].*)?")
_ROW = re.compile(r"[1-9.0*_xX]{9}")  # dashes are ruled lines
_RULED = re.compile(r"[-=+|:.'* ]*(---|===)[-=+|:.'* ]*")
_HEADINGS = {"puzzle", "puzzles", "quiz", "quizzes", "question", "questions"}
_DIGITS = bytes.maketrans(b"123456789" + BLANKS.encode(), bytes([*range(1, 10), *b"\0" * 7]))


class Puzzles(NamedTuple):
    """The puzzles of files, one file after the other.

    Attributes:
      digits: `[puzzles, 81]` uint8, row by row, 0 for a blank.
      files: each file's name, and the number of each of its puzzles' first line.
    """

    digits: np.ndarray
    files: Sequence[tuple[str, Sequence[int]]]

    def place(self, index: int) -> str:
        """Returns the file and the line of a puzzle."""
        for name, lines in self.files:
            if index < len(lines):
                return f"{name}, line {lines[index]}"
            index -= len(lines)
        raise IndexError(index)


def is_file(name: str) -> bool:
    """Whether a name is that of something to read: a file, a pipe, `-` for standard input."""
    return name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isdir(name))


def read_files(names: Sequence[str | Path]) -> Puzzles:
    """Reads the puzzles of files, plain or compressed by gzip; "-" is standard input."""
    cells, files = bytearray(), []
    for name in map(str, names):
        lines = array.array("i")
        for number, puzzle in find_puzzles(_lines(name), name):
            lines.append(number)
            cells += puzzle.encode()
        files.append((name, lines))
    puzzles = Puzzles(_digits(cells), files)
    _check(puzzles.digits, puzzles.place)
    return puzzles


def read_text(text: str, name: str) -> np.ndarray:
    """Reads the puzzles of a text as `[puzzles, 81]` uint8; an error calls the text `name`."""
    lines, puzzles = zip(*find_puzzles(text.splitlines(), name), strict=True)
    digits = _digits(bytearray("".join(puzzles).encode()))
    _check(digits, lambda index: f"{name}, line {lines[index]}")
    return digits


def read_puzzles(puzzles: Any) -> np.ndarray:
    """Reads puzzles of any kind that Python has.

    Args:
      puzzles: a text; or a `Path`, of a file; or digits, 0 for a blank, as an array or nested lists
        `[81]`, `[9, 9]`, `[n, 81]` or `[n, 9, 9]`; or strings, each the lines of a text.

    Returns:
      `[n, 81]` uint8, 0 for a blank.
    """
    if isinstance(puzzles, os.PathLike):
        return read_files([Path(puzzles)]).digits
    boards = np.asarray(puzzles)
    if boards.dtype.kind in "UO" and all(isinstance(text, str) for text in boards.flat):
        return read_text("\n".join(boards.flat), "puzzles")
    if boards.shape[-2:] == (9, 9):
        boards = boards.reshape(*boards.shape[:-2], 81)
    boards = boards[None] if boards.ndim == 1 else boards
    if boards.shape[1:] != (81,) or not len(boards) or boards.dtype.kind not in "iu":
        raise DataError(
            "expected strings, or integers [81], [9, 9], [n, 81] or [n, 9, 9]; got "
            f"{boards.dtype} of shape {np.shape(puzzles)}"
        )
    for puzzle, cell in np.argwhere((boards < 0) | (boards > 9)):
        found = boards[puzzle, cell]
        raise DataError(f"puzzle {puzzle + 1}: {place(cell)} holds {found}; expected 0 to 9")
    boards = boards.astype(np.uint8)
    _check(boards, lambda index: f"puzzle {index + 1}")
    return boards


def find_puzzles(lines: Iterable[str], name: str) -> Iterator[tuple[int, str]]:
    """Finds the puzzles of a text: the number of each one's first line, and its 81 characters.

    Raises:
      DataError: a line of the text, called `name`, is not understood, a puzzle has too few lines,
        or there is none.
    """
    column, rows, first, found = None, "", 0, 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if column is not None:
            text = "".join(next(csv.reader([text]))[column : column + 1]).strip()
        if not rows and (puzzle := _PUZZLE.fullmatch(text)):
            found += 1
            yield number, puzzle[1]
        elif column is None and _RULED.fullmatch(text):
            continue
        elif column is None and _ROW.fullmatch(row := re.sub(r"[\s|]", "", text)):
            first, rows = first if rows else number, rows + row
            if len(rows) == 81:
                found += 1
                yield first, rows
                rows = ""
        elif rows:
            break
        elif found or (column := _puzzle_column(text)) is None:
            odd = text.strip("123456789" + BLANKS)
            what = f"the character {odd[0]!r}" if odd else f"{len(text)} characters"
            raise DataError(f"{name}, line {number}: {quoted(text)} has {what}; {EXPECTED}")
    if rows:
        raise DataError(f"{name}, line {first}: the puzzle has {len(rows) // 9} rows; expected 9")
    if not found:
        raise DataError(f"{name}: no puzzle; {EXPECTED}")


def _puzzle_column(heading):
    names = [name.strip().lower() for name in next(csv.reader([heading]))]
    return next((index for index, name in enumerate(names) if name in _HEADINGS), None)


def _digits(cells):
    """`[n, 81]` of the puzzles' characters."""
    return np.frombuffer(cells.translate(_DIGITS), np.uint8).reshape(-1, 81)


def _check(boards: np.ndarray, where: Callable[[int], str]) -> None:
    """Refuses a digit that is twice in a row, column or box."""
    for start in range(0, len(boards), BATCH):
        wrong = repeats_digit(boards[start : start + BATCH]).any(axis=1)
        if wrong.any():
            index = start + int(wrong.argmax())
            raise DataError(f"{where(index)}: no solution, {contradiction(boards[index])}")


def _lines(name: str) -> Iterator[str]:
    standard = name == STANDARD_INPUT
    with open(0 if standard else name, "rb", closefd=not standard) as raw:
        zipped = name.endswith(".gz") or raw.peek(2).startswith(b"\x1f\x8b")
        data = gzip.GzipFile(fileobj=raw) if zipped else raw
        text = io.TextIOWrapper(data, "utf-8-sig", "replace")
        try:
            yield from iter(lambda: text.readline(LONGEST), "")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{name}: not a whole .gz file ({error}); get it again") from error
