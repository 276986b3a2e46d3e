"""Draws docs/images/results.png, ours beside the paper's, from the tables of docs/results.md.

python docs/results_figure.py
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "images"
OURS, PAPER = "#35506e", "#c0572b"


def row(start: str) -> list[str]:
    """The cells of the row of docs/results.md that starts so."""
    for line in (FOLDER.parent / "results.md").read_text().splitlines():
        if line.startswith(f"| {start}"):
            return [cell.strip() for cell in line.strip("|").split("|")]
    raise ValueError(f"docs/results.md has no row that starts with {start}")


def numbers(cell: str) -> list[float]:
    return [float(text) for text in re.findall(r"[\d.]+", cell)]


def main() -> None:
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
        values = [float(cell) for cell in row(start)[1:9]]
        clevr.plot(range(8), values, "o-", color=color, label=name)
    clevr.set(title="Pretty-CLEVR, accuracy, %", xlabel="jumps", ylim=(80, 101))
    clevr.legend(frameon=False)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "results.png", dpi=110)


if __name__ == "__main__":
    main()
