"""Pretty-CLEVR's questions: how an example's number tells what is asked, and the classes."""

from typing import Any, NamedTuple

OBJECTS = 8  # of a scene; also colours, markers, and numbers of jumps from 0 to 7
CLASSES = 2 * OBJECTS  # of answers and anchors: colours, then markers
QUESTIONS = OBJECTS * OBJECTS * 2  # of a scene: start, jumps, anchor by colour or by marker


class Question(NamedTuple):
    """A question, or many: then each part is an array or tensor `[examples]`.

    Attributes:
      scene: its number in the split.
      start: the object from which the jumps go.
      by_marker: 1 where the start is named by its marker and the answer is a colour, else 0.
    """

    scene: Any
    start: Any
    jumps: Any
    by_marker: Any


def question_of(example: Any) -> Question:
    """Finds what an example asks for, by its number in the split.

    It may be an array or tensor of numbers; the question's parts are then such, too.
    """
    return Question(
        scene=example // QUESTIONS,
        start=example // (2 * OBJECTS) % OBJECTS,
        jumps=example // 2 % OBJECTS,
        by_marker=example % 2,
    )
