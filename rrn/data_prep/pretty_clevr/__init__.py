"""The Pretty-CLEVR data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  scenes: random scenes, and the walks from object to nearest object
  images: renders scenes
"""
