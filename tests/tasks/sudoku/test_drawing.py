"""Drawings of boards: the text, and the GIF's frames."""

import io

import numpy as np
from PIL import Image

from rrn.tasks.sudoku.drawing import CELL, animation, draw_board
from tests.tasks.sudoku.boards import GRID, puzzles


def test_a_board_in_text():
    lines = draw_board(GRID, np.linspace(0, 1, 81)).splitlines()
    assert len(lines) == 11 and lines[3] == lines[7] and set(lines[3]) <= set("-+ ")
    rows = [line for line in lines if "-" not in line]
    digits, percent = zip(*(row.replace("|", " ").split("      ", 1) for row in rows), strict=True)
    np.testing.assert_array_equal(np.array(" ".join(digits).split(), int), GRID)
    expected = np.linspace(0, 100, 81)
    np.testing.assert_allclose(np.array(" ".join(percent).split(), int), expected, atol=1)


def test_the_animation_has_a_frame_for_every_step_and_pauses_on_the_last():
    puzzle = puzzles(1)[0]
    noise = np.random.default_rng(0).normal(size=[81, 1, 10])
    noise[..., 0] = -3  # the blank
    surer = np.exp(noise * np.arange(9)[:, None])
    image = Image.open(io.BytesIO(animation(puzzle, surer / surer.sum(axis=-1, keepdims=True))))
    assert image.format == "GIF" and image.n_frames == 10
    frames, durations = [], []
    for frame in (0, 1, 9):
        image.seek(frame)
        frames.append(np.array(image.convert("RGB")))
        durations.append(image.info["duration"])
    assert durations == [1000, 150, 2000]
    inked = [cells_with_ink(frame) for frame in frames]
    np.testing.assert_array_equal(inked[0], puzzle.reshape(9, 9) > 0)  # the puzzle alone
    assert inked[1].all() and inked[2].all()
    assert (frames[1] != frames[2]).any()


def cells_with_ink(frame):
    """`[9, 9]`: where a cell's inside is not of one colour."""
    cells = frame[1 : 1 + 9 * CELL, 1 : 1 + 9 * CELL].reshape(9, CELL, 9, CELL, 3)
    cells = cells[:, 4:-4, :, 4:-4]
    return (cells != cells[:, :1, :, :1]).any(axis=(1, 3, 4))
