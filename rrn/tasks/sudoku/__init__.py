"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1).

Modules:
  settings: what a config's `model` and options may be, which prepared files fit
  task: the inputs, the model's way from a board to losses
  network: the paper's modules: embeddings, network over cells, readout
  candidates: those of a network over candidates, digits in cells, which knows none by name
  unit_sums: the sums of messages within rows, columns, boxes and cells, compiled
  report: results, their table and figures, beside the published ones
  marks: a board, and what the network believes of it, on a page
  application: solves puzzles: for Python, as a command and on a page
  __main__: calls the application's command
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.sudoku.application.solving import Solutions, Solver, solve_sudoku
    from rrn.tasks.sudoku.report import SudokuReport, create_report
    from rrn.tasks.sudoku.settings import SCHEMAS, Model
    from rrn.tasks.sudoku.task import Sudoku, create_task

__all__ = [
    "SCHEMAS",
    "Model",
    "Solutions",
    "Solver",
    "Sudoku",
    "SudokuReport",
    "create_report",
    "create_task",
    "solve_sudoku",
]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report", "application.solving"])
