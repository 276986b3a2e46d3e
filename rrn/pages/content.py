"""What is put on a page: tables, charts, and examples with what happens at every step."""

import dataclasses
from collections.abc import Mapping, Sequence

# An SVG element: its name, its attributes, and the text in it.
Mark = tuple[str, Mapping[str, float | str], str]

SIDE = 900  # a drawing is a square with sides of so many units, y downwards


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose `str` is plain text.

    Attributes:
      columns: the headings; the first is that of the rows' names.
      rows: for each row its name and its cells, "" for none.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        names, *columns = zip(self.columns, *self.rows, strict=True)
        width = max(map(len, names))
        lines = [name.ljust(width) for name in names]
        for column in columns:
            width = max(map(len, column)) + 2
            lines = [line + cell.rjust(width) for line, cell in zip(lines, column, strict=True)]
        return "\n".join([*map(str.rstrip, lines), *self.notes])


@dataclasses.dataclass(frozen=True)
class Step:
    """What the network makes of an example at one step.

    Attributes:
      answers: the likeliest answers in words, each with its probability, the likeliest first.
      strengths: of each of the example's lines, how strong the messages are that it sends.
      without: of each of the lines, the right answer's probability where that line is not told.
      marks: what is drawn on top of the example's own drawing.
    """

    answers: Sequence[tuple[str, float]] = ()
    strengths: Sequence[float] = ()
    without: Sequence[float] = ()
    marks: Sequence[Mark] = ()
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Example:
    """An example and its steps.

    Attributes:
      right: the right answer, in the words of `Step.answers`.
      right_probabilities: its probability at every step.
      lines: the sentences that the network reads.
      drawing: what is drawn at every step, on a square of `SIDE` by `SIDE`.
    """

    title: str
    steps: Sequence[Step]
    question: str = ""
    right: str = ""
    right_probabilities: Sequence[float] = ()
    lines: Sequence[str] = ()
    drawing: Sequence[Mark] = ()


@dataclasses.dataclass(frozen=True)
class Curve:
    """A curve over the updates of a run.

    Attributes:
      run: the run's name, "" where all curves are of one.
      name: of what it is.
      part: "training" or "validation".
      points: (update, value), by update; None for a value that is not known.
    """

    run: str
    name: str
    part: str
    points: Sequence[tuple[int, float | None]]


@dataclasses.dataclass(frozen=True)
class Chart:
    """Curves of one quantity.

    Attributes:
      title: the quantity and its unit.
      names: the curves' names in order.
      shown: those that are shown until others are chosen.
      marks: updates that are marked, each with a few words.
    """

    title: str
    curves: Sequence[Curve]
    names: Sequence[str]
    shown: Sequence[str]
    marks: Sequence[tuple[int, str]] = ()
