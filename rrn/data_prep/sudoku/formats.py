"""The forms that Sudokus have in text.

A puzzle is a line of 81 characters, or nine lines of nine: the digits 1 to 9, and for a blank `.`,
`0`, `*`, `-`, `_`, `x` or a space. Rows may be drawn with `|` between boxes and ruled lines between
bands, and their cells may be apart by spaces or commas. After a puzzle's 81 characters may be its
solution, a rating or other words, and before them a number or a name. After a solution may be the
word "invalid", as in lists that `python -m rrn.tasks.sudoku` has written. A table (CSV, its columns
apart by commas, semicolons or tabs) has a heading with a column `puzzle`, `puzzles`, `quiz`,
`quizzes`, `question` or `questions`, and perhaps one `solution`, `solutions`, `answer` or
`answers`; or it has a column for each of the 81 cells, and perhaps 81 more for the solution.

Blank lines, those that begin with `#`, and titles such as `Grid 01` are skipped, and so is what is
in another section of an .sdk file than `[Puzzle]`.
"""

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rrn.data_prep.sudoku.puzzles import PuzzleError, quoted

BLANKS = ".0*-_xX "
_DIGITS = frozenset("123456789")
_CELLS = _DIGITS | frozenset(BLANKS[:-1])
_LINES = frozenset("-*_ ")  # a row of these alone may be a ruled line
_PUZZLE_COLUMNS = {"puzzle", "puzzles", "quiz", "quizzes", "question", "questions"}
_SOLUTION_COLUMNS = {"solution", "solutions", "answer", "answers"}
_SECTION = re.compile(r"\[([A-Za-z]\w*)\]")
_TITLE = re.compile(r"(grid|puzzle|sudoku|board|game)\W{0,3}\d{0,9}\W{0,3}", re.IGNORECASE)
_JOINT, _STROKE = "[|.:'`,+*]", "[-=_]{3,}"
_RULED = re.compile(f"{_JOINT}{{0,3}}{_STROKE}({_JOINT}{{1,3}}{_STROKE})*{_JOINT}{{0,3}}")
_DRAWN: dict[int, str | None] = {ord("\N{BYTE ORDER MARK}"): None}
_DRAWN |= dict.fromkeys(range(0x2500, 0x2580), "-") | dict.fromkeys(map(ord, "│┃║"), "|")
_WORDS = re.compile(r"[\s,;:|#>=\"']+")
_BRACKETS = re.compile(r"[\[\](){}]")
_BETWEEN = re.compile(r"[\s|\"'`,;\[\](){}]")  # what may be between cells
_WITH_SPACES = _DIGITS | {" ", "|"}  # the characters of a line whose blanks are spaces


class Found(NamedTuple):
    """A puzzle in a text.

    Attributes:
      line: the number of its first line, from 1.
      cells: its 81 characters, row by row; each of `BLANKS` is a blank.
      solution: the characters of the solution beside it; "" if there is none.
    """

    line: int
    cells: str
    solution: str = ""


def find_puzzles(lines: Iterable[str]) -> Iterator[Found]:
    """Finds the puzzles of a text.

    Args:
      lines: the text's lines, with or without their ends.

    Yields:
      Its puzzles, in order.

    Raises:
      PuzzleError: a line is not understood, or a puzzle has too few lines.
    """
    grid, table, skips = _Grid(), None, False
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if len(line) == 81 and _CELLS.issuperset(line) and not (table or skips or grid):
            yield Found(number, line)  # as most lines of long lists are
            continue
        if table:
            if line.strip() and not line.startswith("#"):
                yield table.read(number, line)
            continue
        if not line.isascii():
            line = line.translate(_DRAWN)
        text = line.partition("#")[0].strip()
        if section := _SECTION.fullmatch(text):
            skips = section[1].lower() != "puzzle"
        elif skips or not (text or line == " " * 9):
            continue
        elif table := _heading(line):
            grid.end()
        elif (row := _cells(line, 9)) is not None:
            if puzzle := grid.add(number, row):
                yield puzzle
        elif not _is_title(text):
            puzzle = _one_line(number, line)
            grid.end()
            if puzzle:
                yield puzzle
    grid.end()


def _is_title(text):
    text = text.strip("\"'")
    if _BRACKETS.search(text) and not _BETWEEN.sub("", text):  # of a nested list
        return True
    if _RULED.fullmatch(text.replace(" ", "")):
        return True
    return _TITLE.fullmatch(text) or text.lower() in _PUZZLE_COLUMNS


class _Grid:
    """The rows of a puzzle of nine lines, as they come. It is true if it has some."""

    def __init__(self):
        self._rows, self._blanks = [], set()

    def __bool__(self):
        return bool(self._rows)

    def add(self, number, row):
        """Takes a row of nine characters. Returns the puzzle when it is whole, otherwise None."""
        self._rows.append((number, row))
        if not _LINES.issuperset(row):
            self._blanks |= set(row) - _DIGITS
        if self._blanks:  # ruled lines are of other characters than the blanks
            self._rows = [(n, r) for n, r in self._rows if not self._is_ruled(r)]
        if len(self._rows) < 9:
            return None
        puzzle = Found(self._rows[0][0], "".join(row for _, row in self._rows))
        self._rows, self._blanks = [], set()
        return puzzle

    def _is_ruled(self, row):
        return _LINES.issuperset(row) and not self._blanks.issuperset(row)

    def end(self):
        """Nothing more comes of this puzzle. Raises PuzzleError if it has begun."""
        rows = [(number, row) for number, row in self._rows if not _LINES.issuperset(row)]
        if rows:
            count = len(self._rows)
            what = f"the puzzle that begins here has {count} row{'s' * (count > 1)}; expected 9"
            raise PuzzleError(f"{quoted(rows[0][1])}: {what}", rows[0][0])
        self._rows = []


class _Table(NamedTuple):
    """Which columns of a table are read."""

    separator: str
    puzzle: int
    solution: int | None

    def read(self, number, text):
        fields = _fields(text, self.separator)
        if len(fields) <= self.puzzle:
            count = f"{len(fields)} column{'s' * (len(fields) > 1)}"
            what = f"has {count}; expected the puzzle in column {self.puzzle + 1}"
            raise PuzzleError(f"{quoted(text)} {what}", number)
        cells = _cells(fields[self.puzzle], 81)
        if cells is None:
            raise _misfit(number, fields[self.puzzle])
        solution = ""
        if self.solution is not None and self.solution < len(fields):
            solution = fields[self.solution].strip()
        return Found(number, cells, solution)


def _heading(text):
    """The `_Table` of a heading; None if it is none."""
    for separator in ",;\t":
        names = [name.strip().lower() for name in _fields(text, separator)]
        puzzle = next((i for i, name in enumerate(names) if name in _PUZZLE_COLUMNS), None)
        if puzzle is not None and len(names) > 1:
            solutions = (i for i, name in enumerate(names) if name in _SOLUTION_COLUMNS)
            return _Table(separator, puzzle, next(solutions, None))
    return None


def _fields(text, separator):
    if '"' in text:
        with contextlib.suppress(csv.Error):  # of very long fields
            return next(csv.reader([text], delimiter=separator))
    return text.split(separator)


def _one_line(number, line):
    """The puzzle of a line that is no row of nine; None for the heading of 81 columns."""
    if (cells := _cells(line, 81)) is not None:
        return Found(number, cells)
    for separator in ",;\t":
        fields = _single(line, separator)
        if len(fields) in (81, 162):
            if len(set(fields)) == len(fields):  # nothing is named twice: a heading
                return None
            if all(len(field) == 1 for field in fields):
                cells, solution = "".join(fields[:81]), "".join(fields[81:])
                if not _CELLS.issuperset(cells):
                    raise _misfit(number, cells)
                return Found(number, cells, solution)
    words = [word for word in _WORDS.split(line) if word]
    for i, word in enumerate(words):
        if len(word) == 81 and _CELLS.issuperset(word):
            after, judged = [*words[i + 1 :], "", ""][:2]
            is_solution = len(after) == 81 and judged != "invalid"
            return Found(number, word, after if is_solution else "")
    wrong = _misfit(number, line.strip())
    if re.search(r"[,;\t]", line) and not re.search(r"\d", line):
        heading = "or a table's heading with a column puzzle, quiz or question"
        wrong = PuzzleError(f"{wrong}; {heading}", number)
    raise wrong


def _cells(line, count):
    """The `count` characters of a line's cells; None if it has another number, or others."""
    if len(line) == count and _CELLS.issuperset(line):
        return line
    text = line.partition("#")[0]
    plain = _BETWEEN.sub("", text)
    if len(plain) == count and _CELLS.issuperset(plain):
        return plain
    for separator in ",;\t" if count == 9 else "":
        fields = _single(text, separator)
        if len(fields) == count and all(len(field) == 1 for field in fields):
            return "".join(fields) if _CELLS.issuperset(fields) else None
    return _cells_with_spaces(text, count) if _WITH_SPACES.issuperset(text) else None


def _single(text, separator):
    """The fields of a line, an empty one as `.`, without brackets and quotes."""
    bare = _BRACKETS.sub("", text)
    if bare != text:
        bare = bare.strip().strip(",")
    return [field.strip("\"' ") or "." for field in bare.split(separator)]


def _cells_with_spaces(text, count):
    """The same where a space is a blank."""
    boxes = text.split("|")[1:-1] if text.count("|") == 4 else text.split("|")
    if count == 9 and len(boxes) == 3:
        for width, first in ((7, 1), (5, 0)):  # "| 5 3   |" and "5 3  |": spaces between cells
            between = "".join(box[1 - first :: 2] for box in boxes)
            if {len(box) for box in boxes} == {width} and between.isspace():
                return "".join(box[first::2] for box in boxes)
    text = text.replace("|", "")
    if count == 9 and len(text) >= 81:  # few givens, all in the first row
        return None
    if len(text.strip()) == count:
        return text.strip()
    return text[:count] if len(text) >= count and not text[count:].strip() else None


def _misfit(number, text):
    """What is wrong with a line that is no puzzle."""
    for i, character in enumerate(text):
        if character not in _CELLS and not _BETWEEN.match(character):
            expected = f"digits, and for a blank one of {' '.join(BLANKS.strip())} or a space"
            what = f"has the character {character!r} in place {i + 1}; expected {expected}"
            return PuzzleError(f"{quoted(text)} {what}", number)
    count = len(_BETWEEN.sub("", text))
    what = f"has {count} character{'s' * (count != 1)}; expected 81, or nine lines of 9"
    return PuzzleError(f"{quoted(text)} {what}", number)
