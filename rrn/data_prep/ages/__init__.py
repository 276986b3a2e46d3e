"""The age arithmetic data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  trees: all labelled trees on eight people
"""
