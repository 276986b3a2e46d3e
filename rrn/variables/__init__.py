"""Variables and draws, and what is seen of them.

Modules:
  reading: variables that are read once in an update, however many steps use them
  sharded: a variable in several places
  random: draws keyed by seed, update and example
  recorder: what towers read and make, to be shown
"""
