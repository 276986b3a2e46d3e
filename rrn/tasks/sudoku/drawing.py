"""What a network makes of a Sudoku: a board in text, an animation, and marks on a page."""

import functools
import io
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rrn.pages import SIDE, Mark

CELL, CAPTION = 44, 24  # pixels

# A frame's pixels are 16 shades from ink to paper, of blanks (from 0) and of givens (from 128).
INK_AND_PAPER = ((20, 80, 200), (255, 255, 255)), ((0, 0, 0), (225, 225, 225))


def draw_board(solution: np.ndarray, confidence: np.ndarray) -> str:
    """Writes digits `[81]` as text, and beside them their probabilities `[81]` in percent."""
    lines = []
    for row in np.arange(81).reshape(9, 9):
        digits = (" ".join(str(d) for d in three) for three in solution[row].reshape(3, 3))
        percent = ("".join(f"{100 * p:4.0f}" for p in c) for c in confidence[row].reshape(3, 3))
        lines.append(" " + " | ".join(digits) + "      " + " |".join(percent))
        if row[0] in (18, 45):
            lines.append("-------+-------+-------    " + "+".join(["-" * 13] * 3))
    return "\n".join(lines)


def animation(puzzle: np.ndarray, beliefs: np.ndarray) -> bytes:
    """Draws the probabilities `[81, steps, 10]` of a puzzle's digits as a GIF, a frame a step.

    A digit's area is its probability, and the digit moves to the middle of its cell as that grows.
    Givens are black on grey. The first frame is the puzzle `[81]`; the last one stays 2 seconds.
    """
    given = np.eye(10)[puzzle]
    num_steps = beliefs.shape[1]
    frames = [_draw_beliefs(puzzle, given, f"puzzle with {np.count_nonzero(puzzle)} givens")]
    for step in range(num_steps):
        frames.append(_draw_beliefs(puzzle, beliefs[:, step], f"step {step + 1} of {num_steps}"))
    file = io.BytesIO()
    durations = [1000] + [150] * (num_steps - 1) + [2000]  # milliseconds
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


def _draw_beliefs(puzzle, beliefs, caption):
    """A frame: the digits of every cell, sized by their probabilities `[81, 10]`."""
    image = Image.new("L", (9 * CELL + 3, 9 * CELL + 3 + CAPTION), 127)
    draw = ImageDraw.Draw(image)
    for cell, digits in enumerate(beliefs):
        ink = 128 if puzzle[cell] else 0
        y, x = (1 + CELL * index for index in divmod(cell, 9))
        draw.rectangle((x, y, x + CELL, y + CELL), fill=ink + 127, outline=160)
        for digit, right, down, size in placed(digits):
            middle = x + CELL * right, y + CELL * down
            draw.text(middle, str(digit), ink, _font(round(CELL * size)), anchor="mm")
    for i in range(0, 10, 3):
        draw.line((1 + CELL * i, 0, 1 + CELL * i, 9 * CELL + 2), fill=128, width=3)
        draw.line((0, 1 + CELL * i, 9 * CELL + 2, 1 + CELL * i), fill=128, width=3)
    draw.text((6, 9 * CELL + 3 + CAPTION / 2), caption, 0, _font(15), anchor="lm")
    image = image.point([value & 0b11111000 for value in range(256)])  # fewer shades
    image.putpalette(
        [
            round(dark + (light - dark) * (value % 128 // 8) / 15)
            for value in range(256)
            for dark, light in zip(*INK_AND_PAPER[value // 128], strict=True)
        ]
    )
    return image


@functools.cache
def _font(size):
    path = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    return ImageFont.truetype(path, size)


def board_marks(puzzle: np.ndarray) -> list[Mark]:
    """Draws a puzzle `[81]`: its grid, and its givens on grey."""
    side, grey, digits, lines = SIDE / 9, [], [], []
    for cell in np.flatnonzero(puzzle):
        y, x = (side * index for index in divmod(cell, 9))
        square = {"x": x, "y": y, "width": side, "height": side, "fill": "#80808038"}
        middle = {"x": x + side / 2, "y": y + side / 2, "font-size": 0.8 * side}
        grey.append(("rect", square, ""))
        digits.append(("text", {**middle, "class": "given"}, str(puzzle[cell])))
    for i in range(10):
        style = {"stroke": "#5b6675", "stroke-width": 2 if i % 3 else 8}
        for along, across in ("xy", "yx"):
            ends = {f"{along}1": 0, f"{along}2": SIDE}
            ends |= {f"{across}1": side * i, f"{across}2": side * i}
            lines.append(("line", {**ends, **style}, ""))
    return grey + lines + digits


def belief_marks(
    puzzle: np.ndarray, beliefs: np.ndarray, solution: np.ndarray | None = None
) -> list[Mark]:
    """Draws the probabilities `[81, 10]` of a puzzle's blanks, by `placed`.

    Digits other than those of a solution `[81]` are red.
    """
    side, marks = SIDE / 9, []
    for cell in np.flatnonzero(puzzle == 0):
        y, x = (side * index for index in divmod(cell, 9))
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
        down, right = (0.5 + (index - 1) * (1 - p**2) / 3 for index in divmod(digit - 1, 3))
        yield int(digit), right, down, 0.8 * p**0.5
