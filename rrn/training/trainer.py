"""The training step: towers, averaged gradients, one update; several updates in one traced call."""

import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.distribute.gradients import average_gradients
from rrn.distribute.towers import tower_gradients
from rrn.random import ExampleRandom
from rrn.training.optimizer import Adam, AveragedWeights, clip_by_global_norm, learning_rate


def model_variables(task):
    """The encoder's trainable variables, then the network's."""
    return [*task.encoder.trainable_variables, *task.network.trainable_variables]


class Trainer(tf.Module):
    """Trains a task's variables on several devices.

    One update: every tower's loss and gradients on its own batch, their average weighted by
    examples, plus the L2 term's gradient (l2 w for each regularized w), clipped, and one step of
    Adam.
    """

    def __init__(self, task, config, devices, batch_specs):
        """config: the experiment's `train`; batch_specs: each device's batches' `tf.TypeSpec`s."""
        super().__init__(name="trainer")
        learning_rate(config, 0)  # a wrong field is an error here, in plain words
        self.task, self.config, self.devices = task, config, devices
        self.model_variables = model_variables(task)
        self.optimizer = Adam(self.model_variables)
        self.averages = None
        if config.average_decay:
            self.averages = AveragedWeights(self.model_variables, config.average_decay)
        with tf.device(CPU):
            self.update = tf.Variable(0, dtype=tf.int64, trainable=False, name="update")
        self.tower_reads = {}
        self._one_update = tf.function(self._update, input_signature=[tuple(batch_specs)])
        # Traced now, when all variables exist.
        self.one_update = self._one_update.get_concrete_function()

    def update_once(self, batches):
        """One update on the devices' batches; returns ({name: (sum, count)}, is all finite?)."""
        return self._one_update(tuple(batches))

    def _tower(self, device, batch):
        random = ExampleRandom(batch["seed"], batch["rows"], self.config.batch_size)

        def loss_fn(encodings, batch):
            losses, outputs = self.task.loss(encodings, batch, random)
            return tf.reduce_mean(losses["loss"]), self.task.metrics(batch, outputs)

        return tower_gradients(device, self.task.encode, loss_fn, batch, self.model_variables)

    def gradients(self, batches):
        """(mean loss, averaged gradients with the L2 term's, summed metrics) of one update."""
        towers = []
        for i, (device, batch) in enumerate(zip(self.devices, batches, strict=True)):
            towers.append(self._tower(device, batch))
            self.tower_reads[f"tower {i}"] = towers[-1].reads
        with tf.device(CPU):
            counts = [tf.cast(tf.size(batch["rows"]), tf.float32) for batch in batches]
            gradients = average_gradients([tower.gradients for tower in towers], counts)
            loss = tf.add_n([t.loss * n for t, n in zip(towers, counts, strict=True)])
            loss /= tf.add_n(counts)
            metrics = tf.nest.map_structure(lambda *m: tf.add_n(m), *[t.aux for t in towers])
        return loss, self._add_l2(gradients), metrics

    def _add_l2(self, gradients):
        regularized = {variable.ref() for variable in self.task.regularized()}

        def add(variable, gradient):
            if gradient is None or not self.config.l2 or variable.ref() not in regularized:
                return gradient
            with tf.device(variable.device):
                return gradient + self.config.l2 * variable

        return [add(v, g) for v, g in zip(self.model_variables, gradients, strict=True)]

    def _update(self, batches):
        """One update; returns ({name: (sum, count)}, whether loss and gradients are finite)."""
        loss, gradients, metrics = self.gradients(batches)
        with tf.device(CPU):
            gradients, norm = clip_by_global_norm(gradients, self.config.clip_norm)
            rate = learning_rate(self.config, self.update)
            self.optimizer.apply(gradients, rate, self.update)
            if self.averages:
                self.averages.update()
            self.update.assign_add(1)
            one = tf.ones([])
            scalars = {"loss": loss, "gradient_norm": norm, "learning_rate": rate}
            metrics = {**{name: (value, one) for name, value in scalars.items()}, **metrics}
            return metrics, tf.math.is_finite(loss) & tf.math.is_finite(norm)

    @tf.function
    def train(self, iterators, num_updates):
        """`num_updates` updates (a scalar tensor) from the devices' iterators.

        Returns {name: mean} over them and the number of the first update whose loss or gradient was
        not finite, -1 if none.
        """
        with tf.device(CPU):
            specs, _ = self.one_update.structured_outputs
            totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)
            bad_update = tf.constant(-1, tf.int64)
            for _ in tf.range(num_updates):
                update = self.update.read_value()
                metrics, finite = self.update_once([next(i) for i in iterators])
                totals = tf.nest.map_structure(tf.add, totals, metrics)
                bad_update = tf.where(finite | (bad_update >= 0), bad_update, update)
            means = {name: tf.math.divide_no_nan(s, n) for name, (s, n) in totals.items()}
            return means, bad_update
