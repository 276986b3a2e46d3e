"""Who sends to whom: one interface, `Graph`, and four forms of it.

    SparseGraph          any graph or graphs, as a list of edges
    RegularGraph         the same graph many times; each of its nodes has k neighbours
    FullyConnectedGraph  every node receives from every node of its graph; graphs may differ in size
    GraphUnion           graphs of any form side by side

The nodes of all graphs of a batch lie in one matrix `[nodes, size]`, graph after graph; there is no
axis for the batch. Where two forms describe the same graph, their results are the same.

The four forms are values (`GraphValue`): arguments of a `tf.function` or of a SavedModel's
function, elements of a `tf.data` pipeline, and parts of a union.
"""

from rrn.nn.graphs.batching import batch_graphs
from rrn.nn.graphs.fully_connected import FullyConnectedGraph
from rrn.nn.graphs.graph import EdgeEnds, EdgeFunction, EdgeValues, Graph, GraphValue, KnownSizes
from rrn.nn.graphs.regular import RegularGraph, all_others
from rrn.nn.graphs.sparse import SparseGraph
from rrn.nn.graphs.union import GraphUnion

__all__ = [
    "EdgeEnds",
    "EdgeFunction",
    "EdgeValues",
    "FullyConnectedGraph",
    "Graph",
    "GraphUnion",
    "GraphValue",
    "KnownSizes",
    "RegularGraph",
    "SparseGraph",
    "all_others",
    "batch_graphs",
]
