"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2.

Modules of a network:

    network.py      the message function and the recurrent relational network
    graphs.py       which nodes hear which: regular, fully connected, sparse graphs, and unions
    layers.py       linear layers, MLPs, embeddings, the LSTM cell
    sentences.py    an encoder of sentences, each distinct beginning once
    convolution.py  convolutions of images
    answers.py      one answer for each graph: readout, loss, accuracy
    random.py       random draws by key
    reading.py      one read of each variable, however many steps use it

What trains it:

    optimizers/     Adam, RMSProp, Muon, learning rates, clipping, averaged weights
    weights.py      weights files
    data.py         prepared files, and the input pipeline of each device
    distribute/     several devices and machines
    tasks/          the paper's tasks and others
    training/       experiments from config to results
    solving.py      Sudoku puzzles with trained weights
"""

from rrn.graphs import FullyConnectedGraph, Graph, GraphUnion, RegularGraph, SparseGraph
from rrn.layers import MLP, Embedding, Linear, LSTMCell
from rrn.network import MessageFunction, RecurrentRelationalNetwork, RecurrentState
from rrn.sentences import SentenceEncoder, prefix_tree

__all__ = [
    "MLP",
    "Embedding",
    "FullyConnectedGraph",
    "Graph",
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
