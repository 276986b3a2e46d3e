"""Drawings of what a network makes of a Sudoku: a board in text, and a picture that moves."""

import functools
import io
from pathlib import Path

import numpy as np

from rrn.tasks.sudoku.marks import placed

CELL, CAPTION = 44, 24  # pixels

LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

# A frame's pixels are 16 shades from ink to paper, of blanks (from 0) and of givens (from 128).
INK_AND_PAPER = ((20, 80, 200), (255, 255, 255)), ((0, 0, 0), (225, 225, 225))


def draw_board(solution: np.ndarray, confidence: np.ndarray) -> str:
    """Writes digits as text, and beside them their probabilities in percent.

    Args:
      solution: digits `[81]`.
      confidence: their probabilities `[81]`.

    Returns:
      Several lines.
    """
    lines = []
    for row in np.arange(81).reshape(9, 9):
        digits = (" ".join(str(d) for d in three) for three in solution[row].reshape(3, 3))
        percent = ("".join(f"{100 * p:4.0f}" for p in c) for c in confidence[row].reshape(3, 3))
        lines.append(" " + " | ".join(digits) + "      " + " |".join(percent))
        if row[0] in (18, 45):
            lines.append("-------+-------+-------    " + "+".join(["-" * 13] * 3))
    return "\n".join(lines)


def animation(puzzle: np.ndarray, beliefs: np.ndarray) -> bytes:
    """Draws what the network believes of one puzzle: a GIF with a frame for each step.

    A digit's area is its probability, and the digit moves to the middle of its cell as that grows.
    Givens are black on grey. The first frame is the puzzle.

    Args:
      puzzle: digits `[81]`, 0 for a blank.
      beliefs: the digits' probabilities `[81, steps, 10]`.

    Returns:
      The file's bytes.
    """
    given = np.eye(10)[puzzle]
    num_steps = beliefs.shape[1]
    frames = [_draw_beliefs(puzzle, given, f"puzzle with {np.count_nonzero(puzzle)} givens")]
    for step in range(num_steps):
        frames.append(_draw_beliefs(puzzle, beliefs[:, step], f"step {step + 1} of {num_steps}"))
    file = io.BytesIO()
    durations = [1000] + [150] * (num_steps - 1) + [4000]  # milliseconds
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


def levels(puzzle: np.ndarray, beliefs: np.ndarray) -> str:
    """Writes the probabilities of a puzzle's blanks in a character each, for a page to draw.

    Args:
      puzzle: digits `[81]`, 0 for a blank.
      beliefs: the digits' probabilities `[81, 10]`.

    Returns:
      For each blank, in order, nine characters of `LEVELS`: that of place i, from 0, stands for the
      probability (i / 63)², so that the letters' heights are evenly spaced.
    """
    places = np.round(63 * np.sqrt(beliefs[puzzle == 0, 1:])).astype(int)
    return "".join(LEVELS[place] for place in places.ravel())


def _draw_beliefs(puzzle, beliefs, caption):
    """A frame: the digits of every cell, sized by their probabilities `[81, 10]`."""
    from PIL import Image, ImageDraw  # only drawing needs it

    image = Image.new("L", (9 * CELL + 3, 9 * CELL + 3 + CAPTION), 127)
    draw = ImageDraw.Draw(image)
    for cell, digits in enumerate(beliefs):
        ink = 128 if puzzle[cell] else 0
        y, x = (1 + CELL * place for place in divmod(cell, 9))
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
    import matplotlib  # for its font
    from PIL import ImageFont

    path = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    return ImageFont.truetype(path, size)
