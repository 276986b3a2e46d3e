"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1)."""

from rrn.tasks.sudoku.network import SCHEMAS, Model
from rrn.tasks.sudoku.report import SudokuReport, create_report
from rrn.tasks.sudoku.task import Sudoku, create_task

__all__ = ["SCHEMAS", "Model", "Sudoku", "SudokuReport", "create_report", "create_task"]
