"""What a network makes of a Sudoku: a board in text, and an animation."""

import functools
import io
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rrn.tasks.sudoku.marks import placed

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
    path = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    return ImageFont.truetype(path, size)
