"""Image completion: a network fills a hole, two discriminators judge the image (Iizuka et al. 2017,
"Globally and locally consistent image completion").

The hole is a rectangle drawn at random for every example. The completion network sees the image
with the hole in the average colour, and the hole's mask; only the hole is taken from what it gives.
A global discriminator sees the whole image, a local one a patch around the hole; one linear layer
over both says how real it is. The same discriminators judge original and completed images.

Losses of an example, with x the image, c the completed one, D the discriminator's logit:

    reconstruction  the mean of (x - c)² over the hole's pixels
    discriminator   -log σ(D(x)) - log(1 - σ(D(c)))
    generator       reconstruction - adversarial_weight log σ(D(c))

Departures from the paper: widths, dilations and adversarial_weight are the config's, and a
discriminator halves its image until it is at most 4 pixels high. There is no batch normalization:
an example's result would depend on which others its device has. Without it the deep completion
network learns no more than the average, so layers that keep the shape are residual, networks see
and give differences from the average colour, and the last layer is linear and starts at zero. The
generator's adversarial term is the one that does not saturate, not log(1 - σ(D(c))); the
reconstruction term is a mean over the hole, not a sum. An original image is judged around the hole
of its completion, not around another. Adam takes AdaDelta's place. Results are the network's,
without blending afterwards.
"""

import numpy as np
import tensorflow as tf

from rrn.convolution import Conv2D, ConvTranspose2D
from rrn.layers import Linear
from rrn.random import uniform
from rrn.reading import module_variables

# The prepared file's name and version of schema -> its images.
IMAGES = {("pretty_clevr", 1): "images", ("mnist", 1): "image"}
SCHEMAS = tuple(IMAGES)
FILLS = "completed", "average image", "visible average", "nearest visible"
SHOWN = 6  # examples in the picture


def create_task(config, data):
    return Completion(config, data)


class CompletionNetwork(tf.Module):
    """From the image and the mask, at a quarter of the size with dilated layers between, to the
    image. Channels are 1, 2 and 4 times `width`; layers that keep the shape make x to
    (x + ReLU(conv(x))) / √2.
    """

    def __init__(self, channels, config):
        super().__init__(name="completion")
        width, dtype = config.width, config.compute_dtype

        def conv(name, inputs, outputs, kernel_size=3, stride=1, dilation=1):
            return Conv2D(inputs, outputs, kernel_size, stride, dilation, dtype, name)

        def up(name, inputs, outputs):
            return ConvTranspose2D(inputs, outputs, 4, 2, dtype, name)

        with self.name_scope:
            self.layers = [
                conv("conv_0", channels + 1, width, kernel_size=5),
                conv("conv_1", width, 2 * width, stride=2),
                conv("conv_2", 2 * width, 2 * width),
                conv("conv_3", 2 * width, 4 * width, stride=2),
                conv("conv_4", 4 * width, 4 * width),
                conv("conv_5", 4 * width, 4 * width),
                *(conv(f"dilated_{d}", 4 * width, 4 * width, 3, 1, d) for d in config.dilations),
                conv("conv_6", 4 * width, 4 * width),
                conv("conv_7", 4 * width, 4 * width),
                up("up_0", 4 * width, 2 * width),
                conv("conv_8", 2 * width, 2 * width),
                up("up_1", 2 * width, width),
                conv("conv_9", width, width // 2),
                conv("conv_10", width // 2, channels),
            ]
        last = self.layers[-1].w
        last.assign(tf.zeros_like(last))

    def __call__(self, images):
        """`[batch, size, size, channels + 1]` to `[batch, size, size, channels]`."""
        first, *layers, last = self.layers
        images = tf.nn.relu(first(images))
        for layer in layers:
            outputs = tf.nn.relu(layer(images))
            keeps_shape = layer.stride == 1 and images.shape[-1] == outputs.shape[-1]
            images = (images + outputs) * 0.5**0.5 if keeps_shape else outputs
        return tf.cast(last(images), tf.float32)


class ImageDiscriminator(tf.Module):
    """Convolutions that halve an image until it is at most 4 pixels high, and a dense layer."""

    def __init__(self, size, channels, config, name):
        super().__init__(name=name)
        width, dtype = config.width, config.compute_dtype
        self.layers = []
        with self.name_scope:
            while size > 4:
                i = len(self.layers)
                sizes = channels, width * min(2**i, 8)
                self.layers.append(Conv2D(*sizes, 5, 2, compute_dtype=dtype, name=f"conv_{i}"))
                size, channels = -(-size // 2), sizes[1]
            self.dense = Linear(size**2 * channels, 16 * width, dtype, name="dense")

    def __call__(self, images):
        """`[batch, size, size, channels]` to features `[batch, 16 * width]`."""
        for layer in self.layers:
            images = tf.nn.relu(layer(images))
        rows = tf.reshape(images, [-1, self.dense.w.shape[0]])
        return tf.cast(tf.nn.relu(self.dense(rows)), tf.float32)


class Discriminator(tf.Module):
    """A global and a local discriminator, joined by one linear layer."""

    def __init__(self, size, channels, config):
        super().__init__(name="discriminator")
        with self.name_scope:
            self.whole = ImageDiscriminator(size, channels, config, "global")
            self.patch = ImageDiscriminator(config.patch_size, channels, config, "local")
            self.joint = Linear(2 * 16 * config.width, 1, name="joint")

    def __call__(self, images, patches):
        """The logits `[batch]` of being real."""
        features = tf.concat([self.whole(images), self.patch(patches)], axis=-1)
        return self.joint(features)[:, 0]


def draw_holes(random, size, smallest, largest):
    """Rectangles (top, left, height, width) `[examples, 4]`, int32.

    Sides are uniform in smallest..largest, and so are places in what they leave of the image.
    """
    draws = random.uniform([4])
    sides = smallest + tf.cast(draws[:, 2:] * (largest - smallest + 1), tf.int32)
    room = tf.cast(size - sides + 1, tf.float32)
    return tf.concat([tf.cast(draws[:, :2] * room, tf.int32), sides], axis=1)


def hole_mask(hole, size):
    """`[examples, size, size, 1]`: 1 within the hole, else 0."""
    place = tf.range(size)
    start, end = hole[:, :2, None], (hole[:, :2] + hole[:, 2:])[:, :, None]
    inside = tf.cast((start <= place) & (place < end), tf.float32)
    return inside[:, 0, :, None, None] * inside[:, 1, None, :, None]


def cut_patches(images, hole, patch_size):
    """`[examples, patch_size, patch_size, channels]`: what is around the hole, within the image."""
    size = images.shape[1]
    start = hole[:, :2] + (hole[:, 2:] - patch_size) // 2
    places = tf.clip_by_value(start, 0, size - patch_size)[:, :, None] + tf.range(patch_size)
    rows = tf.gather(images, places[:, 0], axis=1, batch_dims=1)
    return tf.gather(rows, places[:, 1], axis=2, batch_dims=1)


def nearest_visible(images, hole):
    """The images with each pixel of the hole as the nearest one outside: straight up, down, left or
    right (in this order where two are equally near). Pixels outside the hole mean nothing.
    """
    size = images.shape[1]
    place = tf.range(size)
    start, end = hole[:, :2, None], (hole[:, :2] + hole[:, 2:])[:, :, None]
    # For rows and for columns `[examples, 2, size]`: how far it is over the start and the end.
    before = tf.where(start > 0, place - start + 1, 2 * size)
    after = tf.where(end < size, end - place, 2 * size)
    rows, columns = tf.meshgrid(place, place, indexing="ij")
    ways = [  # (distance, row and column of the pixel there), each [examples, size, size]
        (before[:, 0, :, None], start[:, 0, :, None] - 1, columns),
        (after[:, 0, :, None], end[:, 0, :, None], columns),
        (before[:, 1, None], rows, start[:, 1, None] - 1),
        (after[:, 1, None], rows, end[:, 1, None]),
    ]
    shape = [tf.shape(images)[0], size, size]
    ways = [[tf.broadcast_to(part, shape) for part in way] for way in ways]
    distance, *best = ways[0]
    for other, *pixel in ways[1:]:
        nearer = other < distance
        distance = tf.where(nearer, other, distance)
        best = [tf.where(nearer, new, old) for new, old in zip(pixel, best, strict=True)]
    return tf.gather_nd(images, tf.stack(best, axis=-1), batch_dims=1)


def mean_over_hole(images, hole):
    """(the mean of |x|, that of x²) over the hole's pixels and channels, both `[examples]`."""
    inside = images * hole_mask(hole, images.shape[1])
    count = tf.cast(hole[:, 2] * hole[:, 3] * images.shape[3], tf.float32)
    return [tf.reduce_sum(v, [1, 2, 3]) / count for v in (tf.abs(inside), inside**2)]


def psnr(mse):
    """Peak signal-to-noise ratio in dB, of values in [0, 1]."""
    return -10.0 * np.log10(mse)


class Completion:
    """The completion task; see `rrn.tasks.task.Task` for what each method is for.

    Nothing is encoded, so the encoder has no variables. The network's modules are `completion` and
    `discriminator`.
    """

    def __init__(self, config, data):
        self.config = config
        self.name = IMAGES[data.attributes["schema"], data.attributes["version"]]
        train = data.splits["train"].get(self.name)
        if train is None:
            raise ValueError(f"{data.path}: has no images; `python -m data_prep` needs --images")
        train = train.reshape(*train.shape[:3], -1)
        _, self.size, width, channels = train.shape
        largest = round(max(config.hole) * self.size)
        if width != self.size or self.size % 4 or not largest <= config.patch_size <= self.size:
            raise ValueError(
                f"{data.path}: images must be square, of a side that 4 divides and that is at "
                f"least model.patch_size, which must be at least the hole's {largest}; images are "
                f"{self.size} x {width}, patch_size is {config.patch_size}"
            )
        self.average = np.float32(train.mean(axis=0, dtype=np.float64) / 255.0)
        self.colour = self.average.mean(axis=(0, 1))
        self.encoder, self.network = tf.Module(name="encoder"), tf.Module(name="network")
        self.network.completion = CompletionNetwork(channels, config)
        self.network.discriminator = Discriminator(self.size, channels, config)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays[self.name])

    def draw_examples(self, arrays, seed, batch_size):
        """Images uniformly."""
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def sizes(self, arrays, examples):
        return tf.zeros_like(examples)

    def make_batch(self, arrays, examples, random, training):
        """ "image" `[examples, size, size, channels]` in [0, 1]; "hole": see `draw_holes`."""
        images = tf.gather(arrays[self.name], examples)
        images = tf.reshape(images, [-1, *self.average.shape])
        smallest, largest = (round(share * self.size) for share in self.config.hole)
        hole = draw_holes(random, self.size, smallest, largest)
        return {"image": tf.cast(images, tf.float32) / 255.0, "hole": hole}

    # Model

    def encode(self, batch):
        return {}

    def complete(self, batch):
        """The batch's images with their holes filled; there, values may be outside of [0, 1]."""
        image, mask = batch["image"], hole_mask(batch["hole"], self.size)
        seen = tf.concat([tf.where(mask > 0, 0.0, image - self.colour), mask], axis=-1)
        return tf.where(mask > 0, self.colour + self.network.completion(seen), image)

    def judge(self, images, hole):
        """The discriminators' logits of the images `[examples]`."""
        images = images - self.colour
        return self.network.discriminator(images, cut_patches(images, hole, self.config.patch_size))

    def loss(self, encodings, batch, random):
        """The losses above. Outputs: "loss" (reconstruction); "l1" and "mse" `[examples, fills]`,
        of the first of `FILLS` in training and of all in evaluation, values cut to [0, 1];
        "original_logit" and "completed_logit"; in evaluation "completed", the images, and "hole".
        """
        image, hole = batch["image"], batch["hole"]
        completed = self.complete(batch)
        original_logit, completed_logit = self.judge(image, hole), self.judge(completed, hole)
        _, reconstruction = mean_over_hole(completed - image, hole)
        fooled = tf.nn.softplus(-completed_logit)
        losses = {
            "reconstruction": reconstruction,
            "discriminator": tf.nn.softplus(-original_logit) + tf.nn.softplus(completed_logit),
            "generator": reconstruction + self.config.adversarial_weight * fooled,
        }
        completed = tf.clip_by_value(completed, 0.0, 1.0)
        fills = [completed] if random else [completed, *self.simple_fills(batch)]
        errors = [mean_over_hole(fill - image, hole) for fill in fills]
        l1, mse = (tf.stack(parts, axis=1) for parts in zip(*errors, strict=True))
        outputs = {"loss": reconstruction, "l1": l1, "mse": mse}
        outputs |= {"original_logit": original_logit, "completed_logit": completed_logit}
        return losses, outputs if random else {**outputs, "completed": completed, "hole": hole}

    def simple_fills(self, batch):
        """Images whose holes are filled without a network: `FILLS` but the first."""
        image, hole = batch["image"], batch["hole"]
        visible = 1.0 - hole_mask(hole, self.size)
        colour = tf.reduce_sum(image * visible, [1, 2], keepdims=True)
        colour /= tf.reduce_sum(visible, [1, 2], keepdims=True)
        return self.average[None], colour, nearest_visible(image, hole)

    def regularized(self):
        variables = module_variables(self.network)
        return [v for v in variables if v.name.removesuffix(":0").endswith("/w")]

    # Results

    def metrics(self, batch, outputs):
        """ "l1" in the hole, and the share of images that the discriminators judge rightly."""
        count = tf.cast(tf.shape(outputs["l1"])[0], tf.float32)
        right = [outputs["original_logit"] > 0, outputs["completed_logit"] < 0]
        right = tf.reduce_sum(tf.cast(right, tf.float32))
        return {
            "l1": (tf.reduce_sum(outputs["l1"][:, 0]), count),
            "discriminator/accuracy": (right, 2 * count),
        }

    def results(self, arrays, examples, outputs):
        """`l1` and `psnr` (dB, of the mean squared error over all holes), those of the other fills
        as `l1/...`; `discriminator_accuracy`, `loss`; and "samples" for the picture.
        """
        l1, mse = outputs["l1"].mean(axis=0), outputs["mse"].mean(axis=0)
        metrics = {"l1": l1[0], "psnr": psnr(mse[0]), "loss": mse[0]}
        right = outputs["original_logit"] > 0, outputs["completed_logit"] < 0
        metrics["discriminator_accuracy"] = np.mean(right)
        for i, fill in enumerate(FILLS[1:], 1):
            name = fill.replace(" ", "_")
            metrics |= {f"l1/{name}": l1[i], f"psnr/{name}": psnr(mse[i])}
        metrics = {name: float(value) for name, value in metrics.items()}
        shown = np.linspace(0, len(examples) - 1, min(SHOWN, len(examples))).astype(int)
        original = arrays[self.name].numpy()[examples[shown]].reshape(-1, *self.average.shape)
        samples = {
            "original": original / 255.0,
            "hole": outputs["hole"][shown].astype(int),
            "completed": outputs["completed"][shown],
        }
        return {"metrics": metrics, "by_step": {}, "error": metrics["loss"], "samples": samples}

    def table(self, results):
        """What each stage reaches, and the other fills; stages are those of `results`."""
        lines = [f"{'in the hole':<32}{'L1':>8}{'PSNR, dB':>10}{'judged rightly':>16}"]

        def row(name, metrics, suffix="", judged=""):
            l1, psnr_ = metrics["l1" + suffix], metrics["psnr" + suffix]
            lines.append(f"{name:<32}{l1:>8.4f}{psnr_:>10.2f}{judged:>16}".rstrip())

        for name, stage in _by_stage(results).items():
            share = stage["metrics"]["discriminator_accuracy"]
            row(f"completed{name and ', after '}{name}", stage["metrics"], judged=f"{share:.1%}")
        for fill in FILLS[1:]:
            row(fill, results["metrics"], "/" + fill.replace(" ", "_"))
        return "\n".join(lines)

    def figures(self, results):
        """`completed`: some images, with their holes, and completed after every stage."""
        from matplotlib.figure import Figure  # only drawing needs it

        samples = results["samples"]
        masks = hole_mask(tf.constant(samples["hole"], tf.int32), self.size).numpy()
        columns = {
            "original": samples["original"],
            "with a hole": np.where(masks > 0, 0.5, samples["original"]),
        }
        for name, stage in _by_stage(results).items():
            columns[f"after {name}" if name else "completed"] = stage["samples"]["completed"]
        shape = len(masks), len(columns)
        figure = Figure(figsize=(1.8 * shape[1], 1.8 * shape[0]), layout="constrained")
        grid = figure.subplots(*shape, squeeze=False)
        for column, (title, images) in zip(grid.T, columns.items(), strict=True):
            column[0].set_title(title, fontsize=9)
            for axes, image in zip(column, images, strict=True):
                axes.imshow(
                    image if image.shape[-1] == 3 else image[..., 0], "gray", vmin=0, vmax=1
                )
                axes.set_axis_off()
        return {"completed": figure}


def _by_stage(results):
    """Stage -> the results at its end; for weights of no known stage "" -> the results."""
    return results["by_stage"] or {"": results}
