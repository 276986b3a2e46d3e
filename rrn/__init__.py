"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2."""

from rrn.graphs import FullyConnectedGraph, GraphUnion, RegularGraph, SparseGraph
from rrn.layers import MLP, Embedding, Linear, LSTMCell
from rrn.network import MessageFunction, RecurrentRelationalNetwork
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
    "RegularGraph",
    "SentenceEncoder",
    "SparseGraph",
    "prefix_tree",
]
