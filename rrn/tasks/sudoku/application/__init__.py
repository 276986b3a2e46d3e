"""Solving Sudoku puzzles with trained weights: what is made of the task, which knows nothing of it.

Modules:
  boards: the boards that are solved, turned and relabelled for further tries
  solving: solves puzzles with trained weights
  listing: the file of a list's solutions, written while they are found
  drawing: a board in text, and what the network believes as a GIF or for a page
  serving: a page on 127.0.0.1 that takes puzzles; page.html is its template
  __main__: the command, which is called as `python -m rrn.tasks.sudoku PUZZLE`
"""

NUM_STEPS = 64  # with which puzzles are solved
