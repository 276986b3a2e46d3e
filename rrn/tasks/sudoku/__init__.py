"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1).

fields.py    what a config's `model` may be, which prepared files fit
task.py      the inputs, the model's way from a board to losses
network.py   the modules: embeddings, network over cells, readout
report.py    results, their table and figures, beside the published ones
boards.py    the boards that are solved, turned and relabelled for further tries
solving.py   solves puzzles with trained weights
listing.py   the file of a list's solutions, written while they are found
drawing.py   a board in text, and what the network believes as a GIF or on a page
serving.py   a page on 127.0.0.1 that takes puzzles; page.html is its template
interruption.py  what Ctrl-C does
__main__.py  the command `python -m rrn.tasks.sudoku PUZZLE`
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.sudoku.fields import FIELDS, SCHEMAS
    from rrn.tasks.sudoku.solving import Solutions, solve_sudoku
    from rrn.tasks.sudoku.task import Sudoku, create_task

__all__ = ["FIELDS", "SCHEMAS", "Solutions", "Sudoku", "create_task", "solve_sudoku"]
__getattr__ = lazy_names(__name__, __all__, ["fields", "task", "solving"])
