"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2.

The modules; none of them knows devices, files or configs:

    plain        the paper's equations, word for word: the page to read first
    network      the same with fewer operations: the message function, the recurrent network
    graphs/      who sends to whom: the interface `Graph` and its four forms
    relu_sums    faster sums of messages: small graphs, one hidden layer
    edge_layers  faster sums of messages: regular graphs, more layers, bfloat16
    recompute    activations that are computed again in the backward pass
    layers       dense layer, MLP, embedding, LSTM cell
    convolution  convolutions, for tasks on images
    sentences    an LSTM over words, each distinct beginning of a sentence once
    readout      one answer for each graph, its loss and accuracy
    random       draws keyed by seed, update and example
    reading      variables that are read once, however many steps use them
    checks       wrong calls, named
    keras        any module as a Keras layer; imported by itself

What trains them:

    optimizers/  Adam, RMSProp, Muon, learning rates, clipping, averaged weights
    weights      variables and weights files; weights_file: what such a file is
    models       models made again from their weights files
    publish      a run's weights, written for others
    data         a prepared HDF5 file -> one input pipeline for each device
    distribute/  devices, towers, variables on parameter servers, clusters
    tasks/       inputs, model, loss and results of each task
    training/    updates, stages, evaluation, checkpoints
    lazy         packages whose imports of TensorFlow wait until a name is used
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.graphs import (
        FullyConnectedGraph,
        Graph,
        GraphUnion,
        RegularGraph,
        SparseGraph,
        batch_graphs,
    )
    from rrn.layers import MLP, Embedding, Linear, LSTMCell
    from rrn.models import load, solve_sudoku, summary
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
    "batch_graphs",
    "load",
    "prefix_tree",
    "solve_sudoku",
    "summary",
]
__version__ = "0.1.0"
__getattr__ = lazy_names(__name__, __all__, ["graphs", "layers", "network", "sentences", "models"])
