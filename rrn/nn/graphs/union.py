"""Graphs of any form side by side."""

import typing
from collections.abc import Sequence

import tensorflow as tf

from rrn.nn.checks import check_integers, check_shape
from rrn.nn.graphs.checks import (
    check_edges,
    check_globals,
    check_message_sums,
    check_nodes,
    index_tensor,
    known_value,
)
from rrn.nn.graphs.graph import EdgeEnds, EdgeFunction, Graph, GraphValue, KnownSizes


class GraphUnion(GraphValue):
    """Several graphs (of any form) side by side: their nodes, one after the other, in one matrix.

    The edge shape is a list of the parts' edge shapes, and values of edges are lists with one entry
    for each part. Where graphs differ much in size, a union of parts, each padded to its own
    largest graph, has less padding than one `FullyConnectedGraph`.

    Args:
      part_nodes: integers `[parts]`, each part's number of nodes, padding included.
      part_graphs: integers `[parts]`, each part's number of graphs.

    Raises:
      ValueError: there are no parts, a part is no graph, there are not as many numbers as parts, or
        they are not the parts', as far as these are known.
    """

    __name__ = "rrn.GraphUnion"  # in SavedModels

    parts: typing.Tuple[GraphValue, ...]  # noqa: UP006 (what ExtensionType reads)
    part_nodes: typing.Union[typing.Tuple[int, ...], tf.Tensor]  # noqa: UP006, UP007
    part_graphs: typing.Union[typing.Tuple[int, ...], tf.Tensor]  # noqa: UP006, UP007

    def __init__(
        self,
        parts: Sequence[Graph],
        part_nodes: tf.Tensor | Sequence[int],
        part_graphs: tf.Tensor | Sequence[int],
    ):
        if not isinstance(parts, (list, tuple)):
            got = type(parts).__name__
            raise ValueError(f"GraphUnion: parts must be a list of graphs, got {got}")
        for i, part in enumerate(parts):
            if not isinstance(part, GraphValue):
                raise ValueError(
                    f"GraphUnion: parts[{i}] must be an rrn.nn.graphs.GraphValue, such as a "
                    f"SparseGraph, got {type(part).__name__}"
                )
        self.parts = tuple(part for part in parts if isinstance(part, GraphValue))
        if not self.parts:
            raise ValueError("GraphUnion: parts must hold at least one graph, got none")
        self.part_nodes = self._numbers("part_nodes", part_nodes)
        self.part_graphs = self._numbers("part_graphs", part_graphs)
        self._check_numbers()

    def known_sizes(self) -> KnownSizes:
        sizes = [part.known_sizes() for part in self.parts]
        nodes, graphs = [size.nodes for size in sizes], [size.graphs for size in sizes]
        return KnownSizes(_sum(nodes), _sum(graphs), [size.edge_shape for size in sizes])

    def edge_shape(self) -> list:
        return [part.edge_shape() for part in self.parts]

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        return self._joined([part.edge_list() for part in self.parts])

    def edge_ends(self) -> EdgeEnds:
        ends = [part.edge_ends() for part in self.parts]
        present = [
            tf.ones_like(e.senders, tf.bool) if e.present is None else e.present for e in ends
        ]
        return EdgeEnds(*self._joined([e[:2] for e in ends]), tf.concat(present, axis=0))

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: list | None = None,
        edge_weights: list | None = None,
    ) -> tf.Tensor:
        senders, receivers, edges, edge_weights = check_message_sums(
            self, senders, receivers, edges, edge_weights
        )
        none = [None] * len(self.parts)
        arguments = zip(
            self.parts,
            self._split(senders),
            self._split(receivers),
            edges or none,
            edge_weights or none,
            strict=True,
        )
        return tf.concat(
            [part.message_sums(edge_fn, s, r, e, w) for part, s, r, e, w in arguments], axis=0
        )

    def degrees(self, edge_weights: list | None = None) -> tf.Tensor:
        edge_weights = check_edges("GraphUnion.degrees: edge_weights", self, edge_weights)
        weights = edge_weights or [None] * len(self.parts)
        pairs = zip(self.parts, weights, strict=True)
        return tf.concat([part.degrees(weight) for part, weight in pairs], axis=0)

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        nodes = check_nodes("GraphUnion.sum_nodes: nodes", self, nodes)
        pairs = zip(self.parts, self._split(nodes), strict=True)
        return tf.concat([part.sum_nodes(rows) for part, rows in pairs], axis=0)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        name = "GraphUnion.broadcast_globals_to_nodes: globals_"
        globals_ = check_globals(name, self, globals_)
        rows = tf.split(globals_, self.part_graphs, num=len(self.parts))
        pairs = zip(self.parts, rows, strict=True)
        return tf.concat([part.broadcast_globals_to_nodes(g) for part, g in pairs], axis=0)

    def validate(self) -> None:
        for part in self.parts:
            part.validate()
        for name in ("part_nodes", "part_graphs"):
            known_value(f"GraphUnion.validate: {name}", getattr(self, name))
        self._check_numbers()

    def _check_numbers(self):
        """Refuses numbers that are not the parts', where both are known."""
        sizes = [part.known_sizes() for part in self.parts]
        for name, right in (
            ("part_nodes", [size.nodes for size in sizes]),
            ("part_graphs", [size.graphs for size in sizes]),
        ):
            known = tf.get_static_value(getattr(self, name))
            got = right if known is None else list(map(int, known))
            if any(r not in (None, g) for r, g in zip(right, got, strict=True)):
                raise ValueError(
                    f"GraphUnion: {name} must be what the parts have, {right}, got {got}"
                )

    def _joined(self, lists):
        """The parts' (senders, receivers) one after the other, with numbers in the whole union."""
        firsts = tf.unstack(tf.cumsum(self.part_nodes, exclusive=True), len(self.parts))
        shifted = [(s + first, r + first) for (s, r), first in zip(lists, firsts, strict=True)]
        senders, receivers = zip(*shifted, strict=True)
        return tf.concat(senders, axis=0), tf.concat(receivers, axis=0)

    def _split(self, nodes):
        return tf.split(nodes, self.part_nodes, num=len(self.parts))

    def _numbers(self, name, numbers):
        """A number for each part: ints, which a traced function knows, or a tensor."""
        check_shape(f"GraphUnion: {name}", numbers, "[parts]", [len(self.parts)])
        if tf.is_tensor(numbers) or any(tf.is_tensor(number) for number in numbers):
            return index_tensor(f"GraphUnion: {name}", numbers, 1)
        check_integers(f"GraphUnion: {name}", numbers)
        return tuple(int(number) for number in numbers)


def _sum(numbers):
    """Their sum, None if one of them is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
