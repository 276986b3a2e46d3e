"""Solving Sudoku puzzles with trained weights: what is made of the task, which knows nothing of it.

Modules:
  puzzles: reads and checks puzzles
  solving: solves puzzles with trained weights
  drawing: a board in text, and what the network believes as a GIF
  serving: a page on 127.0.0.1 that takes puzzles; page.html is its template
  __main__: the command, which is called as `python -m rrn.tasks.sudoku PUZZLE`
"""

NUM_STEPS = 64  # with which puzzles are solved
