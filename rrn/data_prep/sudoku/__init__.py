"""The Sudoku data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  examples: splits puzzles into pools, and makes examples from a pool
  lists: reads a list of puzzles, each with exactly one solution
  puzzles: the units of the grid, and the parser of lists
  generator: makes puzzles
  solver: solves puzzles and counts their solutions
  symmetry: finds puzzles that are equivalent to each other
"""
