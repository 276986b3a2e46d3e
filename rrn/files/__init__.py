"""Files that are read and verified, or written.

Modules:
  data: a prepared file of `rrn.data_prep`, read into memory
  weights: a model's variables, saved and loaded
  weights_file: what a weights file holds, verified; without TensorFlow
"""
