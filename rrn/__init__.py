"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2.

The modules; none of them knows devices, files or configs:

    plain        the paper's equations, word for word: the page to read first
    network      the recurrent network: the same with fewer operations
    messages     the message function: sums of messages with few operations on edges
    aggregation  any other message function: the interface, and the general path, edge by edge
    node_updates what nodes make of messages: the interface, and the paper's
    graphs/      who sends to whom: the interface `Graph` and its four forms
    relu_sums    faster sums of messages: small graphs, one hidden layer
    edge_layers  faster sums of messages: regular graphs, more layers, bfloat16
    compiled_edge_layers  the same for what XLA compiles, on GPUs
    compiling    what XLA compiles, and what it keeps
    loops        many steps as a loop that XLA compiles once
    recompute    activations that are computed again in the backward pass
    layers       dense layer, MLP, embedding
    cells        LSTM and GRU
    convolution  convolutions, for tasks on images
    sentences    an LSTM over words, each distinct beginning of a sentence once
    readout      one answer for each graph, its loss and accuracy
    random       draws keyed by seed, update and example
    reading      variables that are read once, however many steps use them
    sharded      a variable in several places
    noting       what towers read and make, recorded to be shown
    checks       wrong calls, named
    keras        any module as a Keras layer; imported by itself

What trains them:

    optimizers/  Adam, RMSProp, Muon, learning rates, clipping, averaged weights
    weights      a model's variables, saved and loaded
    weights_file what a weights file holds, verified; without TensorFlow
    models       models made again from their weights files
    export       models as SavedModels, which run without rrn
    publish      a run's weights, written for others
    data         a prepared HDF5 file -> one input pipeline for each device
    distribute/  devices, towers, variables on parameter servers, clusters
    tasks/       inputs, model and loss of each task, and its report: results, table, figures
    training/    updates, stages, evaluation, checkpoints
    config       every setting that all experiments have in common
    settings     what settings are: values that are checked when they are made
    config_file  a config file, and what the command line changes
    pages/       pages with tables and examples, to look at in a browser
    lazy         packages whose imports of TensorFlow wait until a name is used
    fast_start   what programs import first: TensorFlow without Keras
    doctor       which devices TensorFlow can use here, and what is missing: a program
    __main__     the program of an installed package
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.aggregation import Aggregation
    from rrn.cells import GRUCell, LSTMCell
    from rrn.graphs import (
        FullyConnectedGraph,
        Graph,
        GraphUnion,
        RegularGraph,
        SparseGraph,
        batch_graphs,
    )
    from rrn.layers import MLP, Embedding, Linear
    from rrn.messages import MessageFunction
    from rrn.models import load, summary
    from rrn.network import RecurrentRelationalNetwork, RecurrentState
    from rrn.node_updates import NodeUpdate
    from rrn.sentences import SentenceEncoder, prefix_tree
    from rrn.tasks.sudoku.application.solving import solve_sudoku

__all__ = [
    "MLP",
    "Aggregation",
    "Embedding",
    "FullyConnectedGraph",
    "GRUCell",
    "Graph",
    "GraphUnion",
    "LSTMCell",
    "Linear",
    "MessageFunction",
    "NodeUpdate",
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
MODULES = "graphs", "layers", "cells", "aggregation", "messages", "node_updates", "network"
OTHERS = "sentences", "models", "tasks.sudoku.application.solving"
__getattr__ = lazy_names(__name__, __all__, [*MODULES, *OTHERS])
