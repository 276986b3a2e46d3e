"""What the benchmarks ask of the machine: its devices, its clock and memory, its rates, its name.

Importing it chooses the device and tunes TensorFlow, as main.py does.
"""

import tensorflow as tf

from benchmarks import timing
from benchmarks.timing import Case
from rrn.compiling import compile_fast
from rrn.distribute import parse_devices, tune_cpu

tune_cpu()  # as main.py does
DEVICES = parse_devices("auto")[:1]  # before TensorFlow's first operation
ON_GPU = "GPU" in DEVICES[0]
if ON_GPU:  # as main.py does, which keeps what is compiled besides
    compile_fast()

# The machine's own rates: products of square matrices, and copies of so many float32, several one
# after the other where a GPU would else wait for Python.
PRODUCT_SIZE, COPY_SIZE, IN_A_ROW = (8192, 2**28, 8) if ON_GPU else (2048, 2**25, 1)


class TensorFlow(timing.Library):
    """What `timing.measure` asks of TensorFlow."""

    uncounted = 4 if ON_GPU else 2

    def wait(self, result):
        tf.test.experimental.sync_devices()

    def bytes_in_use(self):
        if not ON_GPU:
            return None
        tf.config.experimental.reset_memory_stats("GPU:0")
        return tf.config.experimental.get_memory_info("GPU:0")["current"]

    def peak_bytes(self):
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]


LIBRARY = TensorFlow()


def rate_cases(dtypes):
    """Cases of the machine's own rates: a large product in every type, then a large copy.

    They are timed among the others, because a shared machine's speed drifts.
    """

    def repeated(operation):
        def call(_):
            for _ in range(IN_A_ROW):
                result = operation()
            return result

        return call

    def product(dtype):
        x = tf.cast(tf.random.normal([PRODUCT_SIZE, PRODUCT_SIZE]), dtype)
        return repeated(lambda: tf.matmul(x, x))

    def copy():
        x = tf.ones([COPY_SIZE])
        return repeated(lambda: -x)  # tf.identity would copy nothing

    operations, moved = IN_A_ROW * 2 * PRODUCT_SIZE**3, IN_A_ROW * 2 * 4 * COPY_SIZE
    products = [
        Case("product", lambda dtype=dtype: product(dtype), dtype=dtype, operations=operations)
        for dtype in dtypes
    ]
    return [*products, Case("copy", copy, bytes_moved=moved)]


def print_rates(rates):
    for row in rates:
        name = f"{row['mode']} in {row['dtype']}" if row["dtype"] else row["mode"]
        if "gigaflop_per_second" in row:
            rate = f"{row['gigaflop_per_second']:,.0f} GFLOP/s (of {PRODUCT_SIZE}² matrices)"
        elif "gigabyte_per_second" in row:
            rate = f"{row['gigabyte_per_second']:,.1f} GB/s (read and written)"
        else:
            rate = row["note"]
        print(f"{name}: {rate}")


def hardware():
    """The machine in words."""
    details = map(tf.config.experimental.get_device_details, tf.config.list_physical_devices("GPU"))
    gpus = ", ".join(d.get("device_name", "GPU") for d in details) or "no GPU"
    return f"{timing.cpu()}, {gpus}, TensorFlow {tf.__version__}"
