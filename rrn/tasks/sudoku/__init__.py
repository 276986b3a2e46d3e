"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1).

settings.py  what a config's `model` may be, which prepared files fit
task.py      the inputs, the model's way from a board to losses
network.py   the modules: embeddings, network over cells, readout
report.py    results, their table and figures, beside the published ones
puzzles.py   reads and checks puzzles
solving.py   solves puzzles with trained weights
drawing.py   a board in text, and what the network believes as a GIF or on a page
serving.py   a page on 127.0.0.1 that takes puzzles; page.html is its template
__main__.py  the command `python -m rrn.tasks.sudoku PUZZLE`
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.sudoku.settings import SCHEMAS, Model
    from rrn.tasks.sudoku.solving import Solutions, solve_sudoku
    from rrn.tasks.sudoku.task import Sudoku, create_task

__all__ = ["SCHEMAS", "Model", "Solutions", "Sudoku", "create_task", "solve_sudoku"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "solving"])
