"""What is put on a page: tables, and examples with what happens at every step."""

import dataclasses
from collections.abc import Mapping, Sequence

# An SVG element: its name, its attributes, and the text in it.
Mark = tuple[str, Mapping[str, float | str], str]

SIDE = 900  # units of the sides of a drawing, a square; y goes downwards


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose `str` is plain text; the first column has the rows' names."""

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
      strengths: for each of the example's lines, how strong the messages are that it sends.
      marks: what is drawn on top of the example's own drawing.
    """

    answers: Sequence[tuple[str, float]] = ()
    strengths: Sequence[float] = ()
    marks: Sequence[Mark] = ()
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Example:
    """An example and its steps.

    Attributes:
      right: the right answer, in the words of `Step.answers`.
      right_probabilities: its probability at every step.
      lines: what the network reads, a line for each node.
      drawing: what is drawn at every step.
    """

    title: str
    steps: Sequence[Step]
    question: str = ""
    right: str = ""
    right_probabilities: Sequence[float] = ()
    lines: Sequence[str] = ()
    drawing: Sequence[Mark] = ()
