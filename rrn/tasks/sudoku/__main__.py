"""`python -m rrn.tasks.sudoku PUZZLE` is the command of `rrn.tasks.sudoku.application`."""

import runpy

if __name__ == "__main__":
    runpy.run_module("rrn.tasks.sudoku.application", run_name="__main__", alter_sys=True)
