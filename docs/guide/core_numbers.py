"""Core numbers: a task of your own, on general sparse graphs of different sizes.

    python docs/guide/core_numbers.py [--updates 5000]

Everyone who has fewer than k friends at a party leaves it. Then those leave who now have fewer
than k friends, and so on, until nobody leaves. The people who stay are the k-core. A node's core
number is the largest k for which it stays. One departure can empty a whole chain of friends, so no
neighbourhood of a fixed size tells a node's number. The nodes have no features: the network is
given the edges and nothing else.
"""

import argparse

import numpy as np
import tensorflow as tf

from rrn import MLP, RecurrentRelationalNetwork, SparseGraph
from rrn.optimizers import Adam

CLASSES = 6  # core numbers 0 to 5; a larger one counts as 5
HIDDEN = 64
STEPS = 8
BATCH = 32  # graphs


def draw_graphs(random, num_graphs, smallest, largest):
    """Draws random graphs of `smallest` to `largest` nodes, with a mean degree from 1 to 6.

    Returns:
      senders, receivers: `[edges]`, the nodes of all graphs in one numbering.
      core numbers: `[nodes]`.
    """
    sizes = random.integers(smallest, largest + 1, num_graphs)
    firsts = np.cumsum(sizes) - sizes
    num_edges = np.rint(random.uniform(0.5, 3, num_graphs) * sizes).astype(int)
    ends = random.random([num_edges.sum(), 2]) * np.repeat(sizes, num_edges)[:, None]
    ends = np.repeat(firsts, num_edges)[:, None] + ends.astype(int)
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]]), axis=0)  # each edge once
    senders, receivers = np.concatenate([ends, ends[:, ::-1]]).T  # both hear each other
    return senders, receivers, core_numbers(senders, receivers, sizes.sum())


def core_numbers(senders, receivers, num_nodes):
    """Returns the core numbers `[nodes]`, by the definition, for all graphs at once."""
    numbers = np.zeros(num_nodes, int)
    for k in range(1, CLASSES):
        staying, count = np.ones(num_nodes, bool), None
        while count != (count := staying.sum()):
            friends = np.bincount(receivers, staying[senders], num_nodes)
            staying &= friends >= k
        numbers[staying] = k
    return numbers


class CoreNumbers(tf.Module):
    """The network and its readout. The readout is the same MLP for every node and step."""

    def __init__(self):
        super().__init__()
        self.rrn = RecurrentRelationalNetwork(1, HIDDEN, num_hidden_layers=1)
        self.readout = MLP([HIDDEN, HIDDEN, CLASSES], name="readout")

    def __call__(self, senders, receivers, num_nodes, num_steps):
        """Returns logits `[steps, nodes, CLASSES]`."""
        graph = SparseGraph(senders, receivers, num_nodes)
        hidden = self.rrn(graph, tf.ones([num_nodes, 1]), num_steps)
        return tf.stack([self.readout(h) for h in hidden])


def train(num_updates, random):
    """Returns a trained model and the losses of all updates."""
    model, losses = CoreNumbers(), []
    optimizer = Adam(model.trainable_variables)
    integers = tf.TensorSpec([None], tf.int64)  # other numbers of nodes and edges in every batch

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64), integers, integers, integers])
    def train_step(update, senders, receivers, numbers):
        with tf.GradientTape() as tape:
            logits = model(senders, receivers, tf.size(numbers), STEPS)
            labels = tf.repeat(numbers[None], STEPS, axis=0)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(loss)  # over nodes, and over all steps as in the paper
        rate = 3e-3 * (1 - update / num_updates)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply(gradients, tf.cast(rate, tf.float32), update)
        return loss

    for update in range(num_updates):
        loss = train_step(update, *draw_graphs(random, BATCH, 10, 40))
        losses.append(float(loss))
        if update % 100 == 99:
            print(f"update {update + 1}: loss {np.mean(losses[-100:]):.4f}", flush=True)
    return model, losses


def test(model, random, num_graphs, smallest, largest, num_steps):
    """Returns how many percent of the nodes are right after each step."""
    senders, receivers, numbers = draw_graphs(random, num_graphs, smallest, largest)
    predicted = np.argmax(model(senders, receivers, len(numbers), num_steps), axis=-1)
    return 100 * (predicted == numbers).mean(axis=1)


def main(num_updates):
    random = np.random.default_rng(0)
    tf.random.set_seed(0)
    model, losses = train(num_updates, random)
    for sizes in [(10, 40), (100, 200), (1000, 2000)]:
        right = test(model, random, 40_000 // sizes[1], *sizes, num_steps=32)
        by_step = ", ".join(f"{t}: {right[t - 1]:.2f}" for t in (1, 2, 4, 8, 16, 32))
        print(f"graphs of {sizes[0]} to {sizes[1]} nodes, accuracy by step, %: {by_step}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--updates", type=int, default=5000)
    losses = main(parser.parse_args().updates)
