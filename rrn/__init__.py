"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2."""

from rrn.graphs import FullyConnectedGraph, GraphUnion, RegularGraph, SparseGraph
from rrn.layers import MLP, Embedding, Linear, LSTMCell
from rrn.network import MessageFunction, RecurrentRelationalNetwork, RecurrentState
from rrn.sentences import SentenceEncoder, prefix_tree

__all__ = [
    "MLP",
    "Embedding",
    "FullyConnectedGraph",
    "GraphUnion",
    "LSTMCell",
    "Linear",
    "MessageFunction",
    "RecurrentRelationalNetwork",
    "RecurrentState",
    "RegularGraph",
    "SentenceEncoder",
    "SparseGraph",
    "prefix_tree",
    "solve_sudoku",
]


def __getattr__(name):
    if name == "solve_sudoku":  # with all that training needs: only if asked for
        from rrn.solving import solve_sudoku

        return solve_sudoku
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
