"""The MNIST data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  files: reads MNIST's published files
  digits: renders digits in fonts
"""
