"""Draws results.png and sudoku_extreme.png of docs/images from the tables of docs/results.md.

python docs/results_figure.py
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "images"
OURS, PAPER = "#35506e", "#c0572b"


def rows(start: str) -> list[list[str]]:
    """The cells of the rows of docs/results.md that start so."""
    lines = (FOLDER.parent / "results.md").read_text().splitlines()
    found = [line.strip("|").split("|") for line in lines if line.startswith(f"| {start}")]
    if not found:
        raise ValueError(f"docs/results.md has no row that starts with {start}")
    return [[cell.strip() for cell in cells] for cells in found]


def row(start: str) -> list[str]:
    return rows(start)[0]


def numbers(cell: str) -> list[float]:
    return [float(text.replace(",", "")) for text in re.findall(r"[\d.,]+", cell)]


def draw_summary() -> None:
    """Ours beside the paper's."""
    figure, (babi, sudoku, clevr) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for y, (name, cells) in enumerate(
        [("paper", row("paper | 0")), ("ours", row("`babi.py:hour`"))]
    ):
        mean, deviation = numbers(cells[1])
        color = PAPER if name == "paper" else OURS
        babi.errorbar(mean, y, xerr=deviation, fmt="o", capsize=4, color=color)
    babi.set(title="bAbI, mean error, %", yticks=[0, 1], yticklabels=["paper", "ours"])
    babi.set(ylim=(-0.7, 1.7), xlim=(-0.35, 1.4))
    boards = [("paper", PAPER, "paper | 94"), ("ours", OURS, "`sudoku.py:gpu`")]
    for i, (name, color, start) in enumerate(boards):
        values = [float(cell) for cell in row(start)[1:3]]
        bars = sudoku.bar([i, i + 3], values, color=color, label=name)
        sudoku.bar_label(bars, fontsize=9)
    sudoku.set(title="Sudoku, 17 givens, boards solved, %", ylim=(90, 100))
    sudoku.set(xticks=[0.5, 3.5], xticklabels=["32 steps", "64 steps"])
    for name, color, start in [
        ("paper", PAPER, "paper, up"),
        ("ours", OURS, "`pretty_clevr.py:gpu`"),
    ]:
        values = [numbers(cell)[0] for cell in row(start)[1:9]]
        clevr.plot(range(8), values, "o-", color=color, label=name)
    clevr.set(title="Pretty-CLEVR, accuracy, %", xlabel="jumps", ylim=(80, 101))
    clevr.legend(frameon=False)
    save(figure, "results.png")


def draw_sudoku_extreme() -> None:
    """Boards solved by multiply-adds; a line joins the passes of one network."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name in ("HRM", "TRM", "SE-RRM", "DEC", "ours"):
        points = [numbers(" ".join(cells[3:5])) for cells in rows(f"{name}, ")]
        work, solved = zip(*(point[:2] for point in points), strict=True)
        color = OURS if name == "ours" else PAPER
        axes.plot(work, solved, "o-", color=color)
        label = f"{name}, {rows(f'{name}, ')[0][1]}"
        place = {"xytext": (-9, -4), "textcoords": "offset points", "ha": "right"}
        axes.annotate(label, (work[0], solved[0]), color=color, **place)
    axes.set(xscale="log", xlabel="multiply-adds a puzzle, G", xlim=(0.04, 9e3), ylim=(45, 102))
    axes.set(title="Sudoku-Extreme, boards solved, %")
    save(figure, "sudoku_extreme.png")


def save(figure: plt.Figure, name: str) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / name, dpi=110)


if __name__ == "__main__":
    draw_summary()
    draw_sudoku_extreme()
