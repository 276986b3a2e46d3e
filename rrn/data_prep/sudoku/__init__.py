"""The Sudoku data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  examples: splits puzzles into pools, and makes examples from a pool
  lists: reads lists of puzzles, each with exactly one solution
  reading: the one reader of puzzles: files, texts, arrays and nested lists
  formats: the forms that puzzles have in text
  puzzles: the units of the grid, and contradictions in it
  generator: makes puzzles
  hard: makes hard puzzles by local search
  solver: solves puzzles and counts their solutions
  symmetry: finds puzzles that are equivalent to each other, and turns puzzles
"""
