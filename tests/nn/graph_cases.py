"""One small graph of every form, with what a NumPy loop needs to know about it."""

import numpy as np
import tensorflow as tf

from rrn.nn.graphs import FullyConnectedGraph, GraphUnion, RegularGraph, SparseGraph

FORMS = ("sparse", "regular", "fully_connected", "union")


def make_case(form):
    """(graph, edges [(sender, receiver)], node_graph `[nodes]`, real `[nodes]`, number of graphs).

    The edges are in the order of the graph's edge shape without edges from or to padding nodes;
    `real` is False for padding nodes.
    """
    if form == "sparse":  # a self-edge, an edge twice, a node (5) without edges
        senders, receivers = [0, 1, 1, 2, 3, 4, 6, 6], [1, 0, 0, 2, 4, 3, 4, 4]
        node_graph = np.array([0, 0, 0, 1, 1, 1, 1])
        graph = SparseGraph(senders, receivers, 7, tf.constant(node_graph, tf.int32), 2)
        edges = list(zip(senders, receivers, strict=True))
        return graph, edges, node_graph, np.ones(7, bool), 2
    if form == "regular":
        neighbours = [[1, 2], [0, 1], [3, 0], [2, 2]]
        edges = [
            (4 * g + sender, 4 * g + j)
            for g in range(3)
            for j, senders in enumerate(neighbours)
            for sender in senders
        ]
        return RegularGraph(neighbours, 3), edges, np.repeat(range(3), 4), np.ones(12, bool), 3
    if form == "fully_connected":
        mask = np.array([[1, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]], bool)
        edges = [
            (3 * g + i, 3 * g + j)
            for g in range(4)
            for i in range(3)
            for j in range(3)
            if mask[g, i] and mask[g, j]
        ]
        return FullyConnectedGraph(mask), edges, np.repeat(range(4), 3), mask.reshape(-1), 4
    assert form == "union"
    empty = FullyConnectedGraph(np.zeros([0, 2])), [], np.zeros(0, int), np.zeros(0, bool), 0
    return unite([make_case("fully_connected"), empty, make_case("sparse"), make_case("regular")])


def unite(cases):
    graphs, edges, node_graph, real, num_graphs = zip(*cases, strict=True)
    first_node = np.cumsum([0, *map(len, real)])
    first_graph = np.cumsum([0, *num_graphs])
    union = GraphUnion(list(graphs), [len(r) for r in real], list(num_graphs))
    all_edges = [
        (i + first, j + first)
        for part, first in zip(edges, first_node[:-1], strict=True)
        for i, j in part
    ]
    places = zip(node_graph, first_graph[:-1], strict=True)
    node_graph = np.concatenate([part + first for part, first in places])
    return union, all_edges, node_graph, np.concatenate(real), sum(num_graphs)


def draw_edges(graph, size=None, seed=0):
    """Normal values `[*edge_shape, size]`, or positive ones `[*edge_shape]`; a list for a union."""
    random = np.random.default_rng(seed)

    def draw(shape):
        if size is None:
            return tf.constant(random.uniform(0.1, 2, shape.numpy()).astype(np.float32))
        return tf.constant(random.normal(size=[*shape.numpy(), size]).astype(np.float32))

    return tf.nest.map_structure(draw, graph.edge_shape())


def by_edge(graph, values):
    """Values of the graph's edge shape as rows, one for each of `make_case`'s edges."""
    if isinstance(graph, GraphUnion):
        pairs = zip(graph.parts, values, strict=True)
        return tf.concat([by_edge(part, v) for part, v in pairs], 0)
    if isinstance(graph, RegularGraph):
        return tf.reshape(values, [-1, *values.shape[3:]])
    if isinstance(graph, FullyConnectedGraph):
        real = graph.mask > 0
        return tf.boolean_mask(values, real[:, :, None] & real[:, None, :])
    return values


def plain_edges(graph, pairs, node_graph, edges, globals_):
    """[e_ij, g] as rows, one for each edge; None where there is neither."""
    parts = [] if edges is None else [by_edge(graph, edges)]
    if globals_ is not None:
        parts.append(tf.gather(globals_, [node_graph[j] for _, j in pairs]))
    return tf.concat(parts, axis=-1) if parts else None
