"""Recurrent Relational Networks (Palm et al., NeurIPS 2018) for TensorFlow 2.

Read nn/plain.py first: the paper's equations word for word.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# Imported when they are first used, so that `rrn.data_prep` needs no TensorFlow.
MODULES = {
    "nn.aggregation": ["Aggregation"],
    "nn.cells": ["GRUCell", "LSTMCell"],
    "nn.graphs": ["FullyConnectedGraph", "Graph", "GraphUnion", "RegularGraph", "SparseGraph"],
    "nn.graphs.batching": ["batch_graphs"],
    "nn.layers": ["MLP", "Embedding", "Linear"],
    "nn.messages": ["MessageFunction"],
    "nn.network": ["RecurrentRelationalNetwork", "RecurrentState"],
    "nn.node_updates": ["NodeUpdate"],
    "nn.sentences": ["SentenceEncoder", "prefix_tree"],
    "models.saved": ["load", "summary"],
    "tasks.sudoku.solving": ["solve_sudoku"],
}
__all__ = [name for names in MODULES.values() for name in names]  # pyright: ignore


def __getattr__(name: str) -> Any:
    for module, names in MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
