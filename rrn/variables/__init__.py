"""Variables and draws, and what is seen of them.

Modules:
  reading: variables that are read once in an update, however many steps use them
  sharded: a variable in several places
  shapes: sizes that are known when a function is traced
  random: draws keyed by seed, update and example
  recorder: what towers read and make, to be shown
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.variables.random import ExampleRandom, fold_in, uniform
    from rrn.variables.reading import read, reading_scope
    from rrn.variables.recorder import recording
    from rrn.variables.sharded import ShardedVariable

__all__ = [
    "ExampleRandom",
    "ShardedVariable",
    "fold_in",
    "read",
    "reading_scope",
    "recording",
    "uniform",
]
__getattr__ = lazy_names(__name__, __all__, ["reading", "random", "recorder", "sharded"])
