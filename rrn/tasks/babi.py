"""bAbI: a question about a short story is answered by a network over its facts (Palm et al. 2018,
3.2).

The facts are the nodes of a fully connected graph, self-edges included. A fact's features are its
encoding, its position (one-hot, shifted by an offset drawn per question) and the question's
encoding; the question's encoding is also every edge's feature. The answer is read from the sum of
the nodes at every step.
"""

import numpy as np
import tensorflow as tf

from rrn.answers import accuracy_metrics, answer_losses, results_by_step, sum_readout
from rrn.graphs import FullyConnectedGraph, GraphUnion
from rrn.layers import MLP, Embedding
from rrn.network import RecurrentRelationalNetwork
from rrn.random import uniform
from rrn.sentences import SentenceEncoder, prefix_tree

NUM_TASKS = 20
SCHEMAS = (("babi", 1),)

TASK_NAMES = (
    "single supporting fact",
    "two supporting facts",
    "three supporting facts",
    "two-argument relations",
    "three-argument relations",
    "yes/no questions",
    "counting",
    "lists/sets",
    "simple negation",
    "indefinite knowledge",
    "basic coreference",
    "conjunction",
    "compound coreference",
    "time reasoning",
    "basic deduction",
    "basic induction",
    "positional reasoning",
    "size reasoning",
    "path finding",
    "agent's motivations",
)
SOLVED_ERROR = 5.0  # a task is solved at an error of at most 5 %
PAPER = "paper, 15 runs: mean error 0.46 ± 0.77 %, tasks failed 0.13 ± 0.35"


def create_task(config, data):
    return Babi(config, data)


def part_boundaries(size_counts, num_parts, node_cost=7):
    """The largest sizes of `num_parts` parts of a batch that make the padding cheapest.

    size_counts: `[max_size + 1]`, the expected number of graphs of each size. A graph of size n in
    a part of size b costs b² + node_cost * b: the unit is one edge, and a node costs about 7 (its
    projections, node MLP and LSTM against the two middle layers of the message MLP).
    """
    max_size = len(size_counts) - 1
    best = {0: (0.0, ())}  # largest size covered so far -> (cost, boundaries)
    for _ in range(min(num_parts, max_size)):
        longer = dict(best)
        for start, (cost, boundaries) in best.items():
            for end in range(start + 1, max_size + 1):
                graphs = sum(size_counts[start + 1 : end + 1])
                candidate = cost + graphs * (end**2 + node_cost * end)
                if end not in longer or candidate < longer[end][0]:
                    longer[end] = candidate, (*boundaries, end)
        best = longer
    return best[max_size][1]


class BabiEncoder(tf.Module):
    """One word embedding and two LSTMs, for facts and for questions.

    With `normal_embeddings` the embedding begins with draws of the standard normal distribution.
    With Glorot's, a tenth as large, all sentences are encoded nearly alike at first, next to
    positions of 0 and 1.
    """

    def __init__(self, vocabulary_size, config):
        super().__init__(name="encoder")
        self.embedding = Embedding(vocabulary_size, config.embedding_size)
        if config.normal_embeddings:
            table = self.embedding.table
            table.assign(tf.random.normal(table.shape))
        sizes = config.embedding_size, config.encoding_size
        self.facts = SentenceEncoder(*sizes, name="fact_encoder")
        self.questions = SentenceEncoder(*sizes, name="question_encoder")


class BabiNetwork(tf.Module):
    """The network over facts, and the readout of its sum: `[hidden, hidden, vocabulary]`."""

    def __init__(self, vocabulary_size, config):
        super().__init__(name="network")
        hidden = config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=2 * config.encoding_size + 2 * config.max_facts,
            hidden_size=hidden,
            global_size=config.encoding_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, vocabulary_size], name="readout")


class Babi:
    """The bAbI task; see `rrn.tasks.task.Task` for what each method is for."""

    def __init__(self, config, data):
        self.config = config
        self.vocabulary_size = len(data.shared["vocabulary"])
        self.encoder = BabiEncoder(self.vocabulary_size, config)
        self.network = BabiNetwork(self.vocabulary_size, config)
        # Questions lie in order of task: those of tasks[t] from question_starts[t] on.
        train = data.splits["train"]
        self.tasks, self.question_starts, self.question_counts = np.unique(
            train["task"], return_index=True, return_counts=True
        )
        share = 1.0 / self.question_counts[np.searchsorted(self.tasks, train["task"])]
        sizes = np.minimum(train["num_facts"], config.max_facts)
        size_counts = np.bincount(sizes, weights=share, minlength=config.max_facts + 1)
        self.boundaries = part_boundaries(size_counts, config.num_parts)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["task"])

    def draw_examples(self, arrays, seed, batch_size):
        """Tasks uniformly, then a question of the task uniformly."""
        draws = uniform(seed, [2, batch_size], dtype=tf.float64)
        task = tf.cast(draws[0] * len(self.tasks), tf.int32)
        starts = tf.constant(self.question_starts, tf.int32)
        counts = tf.constant(self.question_counts, tf.float64)
        question = tf.cast(draws[1] * tf.gather(counts, task), tf.int32)
        return tf.gather(starts, task) + question

    def sizes(self, arrays, examples):
        return tf.minimum(tf.gather(arrays["num_facts"], examples), self.config.max_facts)

    def make_batch(self, arrays, examples, random, training):
        """Sentence ids of the last facts, in parts of questions with about as many facts.

        "facts", "questions": the distinct sentences' prefix trees; "fact_of_node",
        "position_of_node" `[nodes]`; "question" `[examples]`: row among the distinct questions;
        "masks": one `[part, part's largest size]` for each part; "answer", "task".
        """
        sizes = self.sizes(arrays, examples)
        told = tf.gather(arrays["num_facts"], examples)
        story = tf.gather(arrays["story"], examples)
        first_fact = tf.gather(arrays["story_start"], story) + told - sizes
        offset = tf.cast(random.uniform([]) * self.config.max_facts, tf.int32)

        ends = tf.searchsorted(sizes, list(self.boundaries), side="right")
        masks, fact_ids, positions = [], [], []
        for part, part_size in enumerate(self.boundaries):
            rows = slice(ends[part - 1] if part else 0, ends[part])
            place = tf.range(part_size)[None]
            mask = place < sizes[rows, None]
            index = tf.where(mask, first_fact[rows, None] + place, 0)
            masks.append(tf.cast(mask, tf.float32))
            fact_ids.append(tf.reshape(tf.gather(arrays["facts"], index), [-1]))
            positions.append(tf.reshape(place + offset[rows, None], [-1]))

        facts, fact_of_node = tf.unique(tf.concat(fact_ids, 0))
        questions, question = tf.unique(tf.gather(arrays["question"], examples))
        return {
            "facts": self.sentences(arrays, facts),
            "questions": self.sentences(arrays, questions),
            "fact_of_node": fact_of_node,
            "position_of_node": tf.concat(positions, 0),
            "question": question,
            "masks": tuple(masks),  # tf.data would stack a list
            "answer": tf.gather(arrays["answer"], examples),
            "task": tf.gather(arrays["task"], examples),
        }

    def sentences(self, arrays, sentences):
        """The prefix tree of the sentences with the ids `sentences`."""
        tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
        return prefix_tree(tf.gather(tokens, sentences), tf.gather(lengths, sentences))

    # Model

    def encode(self, batch):
        """Each distinct sentence once: "facts" and "questions", `[sentences, encoding_size]`."""
        embedding = self.encoder.embedding
        return {
            "facts": self.encoder.facts(embedding, batch["facts"]),
            "questions": self.encoder.questions(embedding, batch["questions"]),
        }

    def graph(self, batch):
        """The batch's graph: one part for each of "masks"."""
        parts = [FullyConnectedGraph(mask) for mask in batch["masks"]]
        part_nodes = tf.stack([tf.size(mask) for mask in batch["masks"]])
        part_graphs = tf.stack([tf.shape(mask)[0] for mask in batch["masks"]])
        return GraphUnion(parts, part_nodes, part_graphs)

    def logits(self, encodings, batch, random):
        """The answer's logits at every step, `[examples, steps, vocabulary]`."""
        graph = self.graph(batch)
        questions = tf.gather(encodings["questions"], batch["question"])
        features = tf.concat(
            [
                tf.gather(encodings["facts"], batch["fact_of_node"]),
                tf.one_hot(batch["position_of_node"], 2 * self.config.max_facts),
                graph.broadcast_globals_to_nodes(questions),
            ],
            axis=-1,
        )
        hidden = self.hidden_states(graph, features, questions, batch)
        dropped = [self.config.readout_dropout] * 2
        return sum_readout(self.network.readout, graph, hidden, dropped, random)

    def hidden_states(self, graph, features, questions, batch):
        """The network's hidden states of every step, a list of `[nodes, hidden]`."""
        return self.network.rrn(graph, features, self.config.num_steps, globals_=questions)

    def loss(self, encodings, batch, random):
        """Cross-entropy, its mean over all steps; outputs also have "probabilities" by step."""
        logits = self.logits(encodings, batch, random)
        losses, outputs = answer_losses(logits, batch["answer"])
        return losses, {**outputs, "probabilities": tf.nn.softmax(logits)}

    def regularized(self):
        mlps = [
            self.network.rrn.input_fn,
            self.network.rrn.message_fn.mlp,
            self.network.rrn.node_fn,
            self.network.readout,
        ]
        return [layer.w for mlp in mlps for layer in mlp.layers]

    # Results

    def metrics(self, batch, outputs):
        """Accuracy of the last step, by step `[steps]`, and of the last step by task `[20]`."""
        return accuracy_metrics(outputs["correct"], batch["task"] - 1, NUM_TASKS, "task")

    def results(self, arrays, examples, outputs):
        """`error/task_01` ... `error/task_20`, `error/mean` (percent), `tasks_failed`, `loss`."""
        answer, tasks = (arrays[name].numpy()[examples] for name in ("answer", "task"))
        # Id 0 stands for every word that training does not have: answering it is never right.
        correct = outputs["probabilities"].argmax(-1) == np.where(answer, answer, -1)[:, None]
        wrong = 100.0 * ~correct
        present = np.unique(tasks)
        errors = np.array([wrong[tasks == task].mean(axis=0) for task in present])
        by_step = {f"error/task_{t:02d}": errors[i] for i, t in enumerate(present)}
        by_step["error/mean"] = errors.mean(axis=0)
        by_step["tasks_failed"] = (errors > SOLVED_ERROR).sum(axis=0)
        by_step["loss"] = outputs["loss"].mean(axis=0)
        return results_by_step(by_step, error=by_step["error/mean"][-1])

    def _errors(self, results):
        """[(task's number, errors by step)] of the tasks in `results`."""
        pairs = results["by_step"].items()
        return [(int(n[-2:]), v) for n, v in pairs if n.startswith("error/task_")]

    def table(self, results):
        steps = range(1, len(results["by_step"]["error/mean"]) + 1)
        lines = ["error, %".ljust(32) + "".join(f"step {s:<5}" for s in steps)]
        for task, errors in self._errors(results):
            numbers = "".join(f"{e:6.1f}    " for e in errors)
            solved = "solved" if errors[-1] <= SOLVED_ERROR else ""
            lines.append(f"{task:2d} {TASK_NAMES[task - 1]:<29}{numbers}{solved}".rstrip())
        metrics = results["metrics"]
        lines.append(
            f"mean error {metrics['error/mean']:.2f} %, "
            f"tasks failed {metrics['tasks_failed']:.0f} of {len(self._errors(results))}"
        )
        return "\n".join([*lines, PAPER])

    def figures(self, results):
        """`error_by_task`: bars of every task's error at every step, and the 5 % line."""
        from matplotlib.figure import Figure  # only drawing needs it

        tasks, errors = zip(*self._errors(results), strict=True)
        errors = np.array(errors)
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        axes = figure.subplots()
        places, width = np.arange(len(tasks)), 0.8 / errors.shape[1]
        for step in range(errors.shape[1]):
            shade = str(0.75 * (1 - (step + 1) / errors.shape[1]))
            left = places - 0.4 + step * width
            axes.bar(
                left, errors[:, step], width, align="edge", color=shade, label=f"step {step + 1}"
            )
        axes.axhline(SOLVED_ERROR, color="C1", linewidth=1, label="solved at 5 %")
        axes.set_xticks(places, [f"{t}" for t in tasks])
        axes.set_xlabel("bAbI task")
        axes.set_ylabel("error, %")
        axes.set_title(
            f"mean error {results['metrics']['error/mean']:.2f} %, "
            f"{results['metrics']['tasks_failed']:.0f} tasks failed ({PAPER})",
            fontsize=9,
        )
        axes.legend(fontsize=8)
        return {"error_by_task": figure}
