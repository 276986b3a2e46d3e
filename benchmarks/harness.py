"""What the benchmarks share: interleaved timing, the machine's own rates, tables and JSON."""

import json
import os
import platform
import statistics
import time

import tensorflow as tf

from rrn.distribute import keep_freed_memory, parse_devices

keep_freed_memory()  # as main.py does
DEVICES = parse_devices("auto")  # before TensorFlow's first operation


def interleaved_medians(functions, inputs):
    """Median seconds of each function over `inputs`, all functions in turn on each input.

    functions: name -> function of one input that returns tensors. Each is called twice on the first
    input, uncounted.
    """
    for function in functions.values():
        for _ in range(2):
            _wait(function(inputs[0]))
    seconds = {name: [] for name in functions}
    for value in inputs:
        for name, function in functions.items():
            start = time.perf_counter()
            _wait(function(value))
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def _wait(result):
    tf.nest.flatten(result)[0].numpy()


PRODUCT_SIZE = 2048


def product(dtype):
    """A function of anything: the product of two large square matrices, the machine's peak.

    It does 2 * PRODUCT_SIZE³ floating-point operations. Time it among the others: a shared
    machine's speed drifts.
    """
    x = tf.cast(tf.random.normal([PRODUCT_SIZE, PRODUCT_SIZE]), dtype)
    multiply = tf.function(lambda: tf.matmul(x, x)[:1, :1])
    return lambda _: multiply()


def time_by_operation(function, inputs):
    """Milliseconds by kind of operation of one call, from TensorFlow's profiler, largest first.

    Operations overlap, so that the sum is more than the wall time.
    """
    import collections
    import glob
    import tempfile

    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        for value in inputs:
            _wait(function(value))
        tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        with open(glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0], "rb") as file:
            space.ParseFromString(file.read())
    total = collections.Counter()
    for plane in space.planes:
        names = {key: value.name for key, value in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                node, colon, operation = names[event.metadata_id].rpartition(":")
                if colon and node.strip() and operation.strip("_")[:1].isupper():
                    total[operation] += event.duration_ps / 1e9 / len(inputs)
    return dict(total.most_common())


def hardware():
    """The machine in words."""
    gpus = [d.name for d in tf.config.list_physical_devices("GPU")]
    with open("/proc/cpuinfo") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    cpu = models[0] if models else platform.processor()
    return f"{os.cpu_count()} cores of {cpu}, {len(gpus)} GPUs, TensorFlow {tf.__version__}"


def print_table(columns, rows):
    cells = [columns, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print(
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )


def write_json(path, result):
    if path:
        with open(path, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
