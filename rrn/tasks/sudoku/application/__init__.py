"""Solving Sudoku puzzles with trained weights: what is made of the task, which knows nothing of it.

puzzles.py   reads and checks puzzles
solving.py   solves puzzles with trained weights
drawing.py   a board in text, and what the network believes as a GIF
serving.py   a page on 127.0.0.1 that takes puzzles; page.html is its template
__main__.py  the command, which is called as `python -m rrn.tasks.sudoku PUZZLE`
"""

NUM_STEPS = 64  # with which puzzles are solved
