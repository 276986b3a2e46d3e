"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2.

Modules:
  nn: the networks on graphs: read nn/plain.py first, the paper's equations word for word
  variables: variables that are read once, in shards; keyed draws; the recorder
  config: every setting that all experiments have in common, declared once
  optimizers: Adam, RMSProp, Muon, learning rates, clipping, averaged weights
  distribute: devices, towers, variables on parameter servers, clusters
  files: prepared data and weights files, verified
  data_prep: public data sets as prepared files; without TensorFlow
  tasks: inputs, model and loss of each task, and its report: results, table, figures
  models: models made again from their weights files, exported, published
  training: one update on one page, and the programs: train, evaluate, inspect
  pages: pages with tables and examples, to look at in a browser
  compiling: what XLA compiles, and what it keeps
  order: sums in one order, the same bits on a CPU
  settings: what settings are: values that are checked when they are made
  config_file: a config file, and what the command line changes
  keras: any module as a Keras layer; imported by itself
  main: the program
  __main__: the command `rrn`, and `python -m rrn`
  sweep: several seeds and settings of a config, and their mean results: a program
  hardware: what a machine has, and what TensorFlow needs on its GPUs
  lazy: packages whose imports of TensorFlow wait until a name is used
  fast_start: what programs import first: TensorFlow without Keras
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.models import load, summary
    from rrn.nn.aggregation import Aggregation
    from rrn.nn.cells import GRUCell, LSTMCell
    from rrn.nn.graphs import (
        FullyConnectedGraph,
        Graph,
        GraphUnion,
        RegularGraph,
        SparseGraph,
        batch_graphs,
    )
    from rrn.nn.layers import MLP, Embedding, Linear
    from rrn.nn.messages import MessageFunction
    from rrn.nn.network import RecurrentRelationalNetwork, RecurrentState
    from rrn.nn.node_updates import NodeUpdate
    from rrn.nn.sentences import SentenceEncoder, prefix_tree
    from rrn.tasks.sudoku.solving import solve_sudoku

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
__getattr__ = lazy_names(
    __name__,
    __all__,
    [
        *("nn.graphs", "nn.layers", "nn.cells", "nn.aggregation", "nn.messages", "nn.node_updates"),
        *("nn.network", "nn.sentences", "models.saved", "tasks.sudoku.solving"),
    ],
)
