"""Variables that are read once in an update, whole or in shards; keyed draws; the recorder."""

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
