"""A Sudoku and what a network believes of it, as marks on a page."""

from collections.abc import Iterator

import numpy as np

from rrn.pages import SIDE, Mark


def board_marks(puzzle: np.ndarray) -> list[Mark]:
    """Draws a puzzle `[81]`: its grid, and its givens on grey."""
    side, grey, digits, lines = SIDE / 9, [], [], []
    for cell in np.flatnonzero(puzzle):
        y, x = (side * place for place in divmod(cell, 9))
        square = {"x": x, "y": y, "width": side, "height": side, "fill": "#80808038"}
        middle = {"x": x + side / 2, "y": y + side / 2, "font-size": 0.8 * side}
        grey.append(("rect", square, ""))
        digits.append(("text", {**middle, "class": "given"}, str(puzzle[cell])))
    for i in range(10):
        style = {"stroke": "#5b6675", "stroke-width": 2 if i % 3 else 8}
        for along, across in ("xy", "yx"):
            place = {f"{across}1": side * i, f"{across}2": side * i}
            lines.append(("line", {f"{along}1": 0, f"{along}2": SIDE, **place, **style}, ""))
    return grey + lines + digits


def belief_marks(
    puzzle: np.ndarray, beliefs: np.ndarray, solution: np.ndarray | None = None
) -> list[Mark]:
    """Draws the probabilities `[81, 10]` of a puzzle's blanks, by `placed`.

    Digits other than those of a solution `[81]` are red.
    """
    side, marks = SIDE / 9, []
    for cell in np.flatnonzero(puzzle == 0):
        y, x = (side * place for place in divmod(cell, 9))
        for digit, right, down, size in placed(beliefs[cell]):
            mark: dict[str, float | str] = {
                "x": round(x + side * right),
                "y": round(y + side * down),
                "font-size": round(side * size),
            }
            if solution is not None and digit != solution[cell]:
                mark["class"] = "wrong"
            marks.append(("text", mark, str(digit)))
    return marks


def placed(beliefs: np.ndarray) -> Iterator[tuple[int, float, float, float]]:
    """Places the digits of a cell, of probabilities `[10]`, that are not improbable.

    A digit's area is its probability, and it moves to the middle of the cell as that grows.

    Yields:
      (digit, x, y, height of the letter); units are sides of the cell.
    """
    for digit in np.flatnonzero(beliefs[1:] > 0.02) + 1:
        p = beliefs[digit]
        down, right = (0.5 + (place - 1) * (1 - p**2) / 3 for place in divmod(digit - 1, 3))
        yield int(digit), right, down, 0.8 * p**0.5
