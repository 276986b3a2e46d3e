"""Sudoku: the missing digits of a board (Palm et al. 2018, section 3.1).

task.py     the inputs, the model's way from a board to losses
solving.py  solves puzzles with trained weights
"""

from rrn.tasks.sudoku.task import SCHEMAS, Sudoku, create_task

__all__ = ["SCHEMAS", "Sudoku", "create_task"]
