"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1).

task.py      the inputs, the model's way from a board to losses
network.py   the modules: embeddings, network over cells, readout
report.py    results, their table and figures, beside the published ones
solving.py   reads and checks puzzles, solves them with trained weights
drawing.py   a board in text, and a GIF of what the network believes
__main__.py  the command `python -m rrn.tasks.sudoku PUZZLE`
"""

from rrn.tasks.sudoku.solving import Solutions, solve_sudoku
from rrn.tasks.sudoku.task import SCHEMAS, Sudoku, create_task

__all__ = ["SCHEMAS", "Solutions", "Sudoku", "create_task", "solve_sudoku"]
