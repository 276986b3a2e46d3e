"""Graphs of any form side by side."""

import typing
from collections.abc import Sequence

import tensorflow as tf

from rrn.nn.checks import index_tensor, known_value
from rrn.nn.graphs.graph import EdgeEnds, GraphValue, KnownSizes


class GraphUnion(GraphValue):
    """Several graphs (of any form) side by side: their nodes, one after the other, in one matrix.

    The edge shape is a list of the parts' edge shapes, and values of edges are lists with one entry
    for each part. Where graphs differ much in size, a union of parts, each padded to its own
    largest graph, has less padding than one `FullyConnectedGraph`.

    Args:
      part_nodes: integers `[parts]`, each part's number of nodes, padding included.
      part_graphs: integers `[parts]`, each part's number of graphs.
    """

    __name__ = "rrn.GraphUnion"  # in SavedModels

    parts: typing.Tuple[GraphValue, ...]  # noqa: UP006 (what ExtensionType reads)
    part_nodes: typing.Union[typing.Tuple[int, ...], tf.Tensor]  # noqa: UP006, UP007
    part_graphs: typing.Union[typing.Tuple[int, ...], tf.Tensor]  # noqa: UP006, UP007

    def __init__(
        self,
        parts: Sequence[GraphValue],
        part_nodes: tf.Tensor | Sequence[int],
        part_graphs: tf.Tensor | Sequence[int],
    ):
        self.parts = tuple(parts)
        if not self.parts or not all(isinstance(part, GraphValue) for part in self.parts):
            got = ", ".join(type(part).__name__ for part in self.parts) or "none"
            raise ValueError(f"GraphUnion: parts must be graphs, such as SparseGraphs, got {got}")
        self.part_nodes = self._numbers("part_nodes", part_nodes)
        self.part_graphs = self._numbers("part_graphs", part_graphs)
        self._check_numbers()

    def known_sizes(self) -> KnownSizes:
        sizes = [part.known_sizes() for part in self.parts]
        nodes, graphs = [size.nodes for size in sizes], [size.graphs for size in sizes]
        return KnownSizes(_sum(nodes), _sum(graphs), [size.edge_shape for size in sizes])

    def edge_shape(self) -> list:
        return [part.edge_shape() for part in self.parts]

    def edge_ends(self) -> EdgeEnds:
        firsts = tf.unstack(tf.cumsum(self.part_nodes, exclusive=True), len(self.parts))
        columns = []
        for part, first in zip(self.parts, firsts, strict=True):
            senders, receivers, present = part.edge_ends()
            present = tf.ones_like(senders, tf.bool) if present is None else present
            columns.append((senders + first, receivers + first, present))
        return EdgeEnds(*(tf.concat(column, axis=0) for column in zip(*columns, strict=True)))

    def _message_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        none = [None] * len(self.parts)
        nodes = self._split(senders), self._split(receivers)
        parts = zip(self.parts, *nodes, edges or none, edge_weights or none, strict=True)
        sums = [part.message_sums(edge_fn, s, r, e, w) for part, s, r, e, w in parts]
        return tf.concat(sums, axis=0)

    def _degrees(self, edge_weights):
        weights = edge_weights or [None] * len(self.parts)
        parts = zip(self.parts, weights, strict=True)
        return tf.concat([part.degrees(weight) for part, weight in parts], axis=0)

    def _sum_nodes(self, nodes):
        parts = zip(self.parts, self._split(nodes), strict=True)
        return tf.concat([part.sum_nodes(rows) for part, rows in parts], axis=0)

    def _broadcast(self, globals_):
        rows = tf.split(globals_, self.part_graphs, num=len(self.parts))
        parts = zip(self.parts, rows, strict=True)
        return tf.concat([part.broadcast_globals_to_nodes(g) for part, g in parts], axis=0)

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

    def _split(self, nodes):
        return tf.split(nodes, self.part_nodes, num=len(self.parts))

    def _numbers(self, name, numbers):
        """A number for each part: ints, which a traced function knows, or a tensor."""
        tensor = index_tensor(f"GraphUnion: {name}", numbers, "[parts]", [len(self.parts)])
        if tf.is_tensor(numbers) or any(tf.is_tensor(number) for number in numbers):
            return tensor
        return tuple(int(number) for number in numbers)


def _sum(numbers):
    """Their sum, None if one of them is not known."""
    return None if None in numbers else sum(numbers)
