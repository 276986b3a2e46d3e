"""bAbI: a network over a short story's facts answers a question (Palm et al. 2018, 3.2).

The facts are the nodes of a fully connected graph, self-edges included. A fact's features are its
encoding, its position (one-hot, shifted by an offset drawn per question) and the question's
encoding; the question's encoding is also every edge's feature. The answer is read from the sum of
the nodes at every step.
"""

from typing import Annotated

import numpy as np
import tensorflow as tf
from pydantic import Field

from rrn.config import Steps
from rrn.files.data import PreparedData
from rrn.nn.graphs import FullyConnectedGraph, GraphUnion
from rrn.nn.readout import accuracy_metrics, answer_losses, sum_readout
from rrn.nn.sentences import prefix_tree
from rrn.tasks.babi.auxiliary import auxiliary_losses, some_facts
from rrn.tasks.babi.batches import NUM_TASKS, Batches, fact_shares
from rrn.tasks.babi.network import BabiEncoder, BabiNetwork, Model
from rrn.tasks.babi.text import joined, split_facts, token_ids
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors, options
from rrn.variables.random import ExampleRandom, Seed
from rrn.variables.reading import Variable, module_variables


class Babi(Task):
    """The bAbI task; the vocabulary and the numbers of facts are the data's.

    On data without a training split the task only answers.

    Raises:
      ValueError: see `rrn.tasks.babi.augmentation.Augmentation`.
    """

    config: Model
    network: BabiNetwork
    encoder: BabiEncoder

    def __init__(self, config: Model, data: PreparedData):
        words, shares = data.shared["vocabulary"], data.constant("fact_shares", fact_shares)
        self.constants = {"vocabulary": words, "fact_shares": shares}
        self.vocabulary_size = len(words)
        encoder = BabiEncoder(self.vocabulary_size, config)
        super().__init__(config, BabiNetwork(self.vocabulary_size, config), encoder)
        self.batches = Batches(config, data, shares)

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["task"])

    def draw_examples(self, arrays: Arrays, seed: Seed, batch_size: int) -> tf.Tensor:
        return self.batches.draw(seed, batch_size)

    def groups(self, arrays: Arrays) -> np.ndarray:
        return self.batches.groups(arrays)

    def sizes(self, arrays: Arrays, examples: tf.Tensor) -> tf.Tensor:
        return tf.minimum(tf.gather(arrays["num_facts"], examples), self.config.max_facts)

    def make_batch(
        self,
        arrays: Arrays,
        examples: tf.Tensor,
        random: ExampleRandom,
        training: bool,
        augment_below: Annotated[int, Field(ge=0)] | None = None,
        max_facts: Annotated[int, Field(ge=1, le=512)] | None = None,
    ) -> Batch:
        """Makes sentence ids of the last facts, in buckets of questions with about as many facts.

        Args:
          augment_below: with the model's `augment`, only tasks with fewer training questions than
            this are augmented; 0: none. By default all are.
          max_facts: the last facts that are read, if these are fewer than the model's `max_facts`.

        Returns:
          "facts", "questions": the distinct sentences' prefix trees; "fact_of_node",
          "position_of_node" `[nodes]`; "question" `[examples]`: row among the distinct questions;
          "masks": one `[examples, largest size]` for each bucket; "answer", "task". In training
          with `auxiliary_loss` also the distinct facts' "topics" `[facts, 2]` and "content" words
          `[facts, words]`.
        """
        max_facts = min(max_facts or self.config.max_facts, self.config.max_facts)
        return self.batches.make(
            arrays, examples, random, training, augment_below, max_facts, self.fixed_shapes
        )

    # Model

    def encode(self, batch: Batch) -> Tensors:
        """Encodes each distinct sentence once: "facts", "questions" `[n, encoding_size]`."""
        embedding = self.encoder.embedding
        return {
            "facts": self.encoder.facts(embedding, batch["facts"]),
            "questions": self.encoder.questions(embedding, batch["questions"]),
        }

    def graph(self, batch: Batch) -> GraphUnion:
        """Makes the batch's graph, a union with one part for each of "masks"."""
        masks = batch["masks"]
        nodes, graphs = [tf.size(mask) for mask in masks], [tf.shape(mask)[0] for mask in masks]
        parts = [FullyConnectedGraph(mask) for mask in masks]
        return GraphUnion(parts, tf.stack(nodes), tf.stack(graphs))

    def logits(
        self, graph: GraphUnion, hidden: list[tf.Tensor], random: ExampleRandom | None = None
    ) -> tf.Tensor:
        """Computes the answer's logits at every step `[examples, steps, vocabulary]`."""
        dropped = [self.config.readout_dropout] * 2
        return sum_readout(self.network.readout, graph, hidden, dropped, random)

    def run(
        self, encodings: Tensors, batch: Batch, num_steps: int | None = None
    ) -> tuple[GraphUnion, list[tf.Tensor]]:
        """Runs the network, by default as many steps as the config says.

        Returns:
          (the graph, every step's hidden states `[nodes, hidden]`).
        """
        graph, features, questions = self.features(encodings, batch)
        num_steps = num_steps or self.config.num_steps
        args = graph, features, num_steps, None
        hidden, _ = self.network.rrn.segment(*args, globals_=questions)
        return graph, hidden

    def features(self, encodings: Tensors, batch: Batch) -> tuple[GraphUnion, tf.Tensor, tf.Tensor]:
        """Makes the network's inputs.

        Returns:
          (the batch's graph, the nodes' features `[nodes, size]`, the graphs' globals, which are
          their encoded questions `[examples, encoding_size]`).
        """
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
        return graph, features, questions

    def loss(
        self,
        encodings: Tensors,
        batch: Batch,
        random: ExampleRandom,
        training: bool,
        num_steps: Steps | None = None,
        auxiliary: bool = True,
        auxiliary_facts: Annotated[int, Field(ge=1, le=256)] | None = None,
    ) -> tuple[Tensors, Tensors]:
        """Computes the cross-entropy of the answer, its mean over all steps.

        Training adds `auxiliary_loss` times the loss "auxiliary" of `auxiliary.py`, and also
        returns that loss by itself. Outputs also have "probabilities" by step, and "auxiliary".

        Args:
          num_steps: by default the model's.
          auxiliary: whether there is the loss "auxiliary", if the model has one.
          auxiliary_facts: of how many facts of each story the loss "auxiliary" is computed, in a
            second pass; they are drawn at every update. The loss is easier to learn if it starts
            with few. By default it is computed of whole stories, in the first pass.
        """
        graph, hidden = self.run(encodings, batch, num_steps)
        logits = self.logits(graph, hidden, random if training else None)
        losses, outputs = answer_losses(logits, batch["answer"])
        if training and self.config.auxiliary_loss and auxiliary:
            if auxiliary_facts:
                draws = random.uniform([self.config.max_facts], 2)
                batch = some_facts(batch, draws, auxiliary_facts)
                _, hidden = self.run(encodings, batch, num_steps)
            word_logits = self.network.node_readout(tf.stack(hidden, axis=1))
            losses["auxiliary"] = outputs["auxiliary"] = auxiliary_losses(word_logits, batch)
            losses["loss"] += self.config.auxiliary_loss * losses["auxiliary"]
        return losses, {**outputs, "probabilities": tf.nn.softmax(logits)}

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        """Computes accuracies and, in training with `auxiliary_loss`, that loss by task `[20]`."""
        tasks = batch["task"] - 1
        metrics = accuracy_metrics(outputs["correct"], tasks, NUM_TASKS, "task")
        if "auxiliary" in outputs:
            sums, counts = (
                tf.math.unsorted_segment_sum(values, tasks, NUM_TASKS)
                for values in (outputs["auxiliary"], tf.ones_like(outputs["auxiliary"]))
            )
            metrics["auxiliary_by_task"] = sums, counts
        return metrics

    def training_only(self) -> list[Variable]:
        return module_variables(self.network.node_readout) if self.config.auxiliary_loss else []

    def regularized(self) -> list[Variable]:
        mlps = [*self.network.rrn.mlps(), self.network.readout]
        return [layer.w for mlp in mlps for layer in mlp.layers]

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {name: tf.TensorSpec([None], tf.string) for name in ("story", "question")}

    def answers(self, inputs: Tensors) -> Tensors:
        """Answers one question about each story, from its last `max_facts` facts.

        Args:
          inputs: "story", its facts, each with a mark that ends a sentence or on a line of its own,
            and "question", strings `[n]`. The numbers of a list or of lines are passed over. Words
            are those of the training stories, in any case; any other one is read as the unknown
            word. A sentence has at most 24 words.

        Returns:
          "answer": the likeliest word after the last step, strings `[n]`. "probabilities": of all
          words at every step `[n, steps, vocabulary]`. "vocabulary": the words, `[vocabulary]`.
          "unknown_words": the words of the facts that count and of the question that are not in
          the vocabulary, with spaces between them, strings `[n]`, empty if there are none.

        A probability compares the answers to each other. Every question of training has an answer
        in its story, so it stays near 1 where the story does not tell what is asked.
        """
        vocabulary = tf.constant(self.constants["vocabulary"].tolist())
        batch, unknown = self.read_texts(inputs["story"], inputs["question"])
        logits = self.logits(*self.run(self.encode(batch), batch))
        return {
            "answer": tf.gather(vocabulary, tf.argmax(logits[:, -1], -1)),
            "probabilities": tf.nn.softmax(logits),
            "vocabulary": vocabulary,
            "unknown_words": unknown,
        }

    def read_texts(self, story: tf.Tensor, question: tf.Tensor) -> tuple[Batch, tf.Tensor]:
        """Makes a batch of one bucket of texts, with positions from 0, and the unknown words."""
        vocabulary = tf.constant(self.constants["vocabulary"].tolist())
        size, stories = self.config.max_facts, tf.size(story)
        facts = split_facts(story)[:, -size:]
        numbers, position = facts.row_lengths(), tf.range(size)
        tf.debugging.assert_positive(numbers, "a story has no fact")
        mask = position < tf.cast(numbers, tf.int32)[:, None]
        fact = tf.cast(facts.row_starts(), tf.int32)[:, None] + position
        fact_ids, fact_lengths, fact_unknown = token_ids(facts.values, vocabulary)
        question_ids, question_lengths, question_unknown = token_ids(question, vocabulary)
        unknown = tf.concat([facts.with_values(fact_unknown), question_unknown[:, None]], axis=1)
        batch = {
            "facts": prefix_tree(fact_ids, fact_lengths),
            "questions": prefix_tree(question_ids, question_lengths),
            "fact_of_node": tf.reshape(tf.where(mask, fact, 0), [-1]),
            "position_of_node": tf.tile(position, [stories]),
            "question": tf.range(stories),
            "masks": (tf.cast(mask, tf.float32),),
        }
        return batch, joined(unknown)


create_task = Babi
Model.LOSS_OPTIONS, Model.BATCH_OPTIONS = options(Babi.loss), options(Babi.make_batch)
