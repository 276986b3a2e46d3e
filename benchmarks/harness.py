"""What the benchmarks share: arguments, cases timed in turn, profiles, tables.

Importing it chooses the device and tunes TensorFlow, as main.py does.
"""

import argparse
import collections
import dataclasses
import glob
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.compiling import compile_fast
from rrn.data_prep.failures import exit_status
from rrn.distribute import parse_devices, plan_placement, tune_cpu
from rrn.distribute.towers import make_towers
from rrn.hardware import describe_gpus, describe_processor
from rrn.nn import plain
from rrn.nn.aggregation import ConcatenatedMLP, EdgeMessages
from rrn.tasks.inputs import training_inputs
from rrn.training import Trainer

DTYPES = "float32", "bfloat16"
LONGEST = 20  # of a profile's kernels

tune_cpu()
DEVICES = parse_devices("auto")[:1]  # before TensorFlow's first operation
ON_GPU = "GPU" in DEVICES[0]
if ON_GPU:
    compile_fast()
UNCOUNTED = 4 if ON_GPU else 2  # calls of each step before the timed ones
# Of the machine's own rate: on a GPU several products in a row, as it would wait for Python.
PRODUCT_SIZE, IN_A_ROW = (8192, 8) if ON_GPU else (2048, 1)


@dataclasses.dataclass
class Case:
    """A training step that is to be measured."""

    mode: str
    make: Callable[[], Callable[[int], Any]]  # of the step, a function of the repeat's number
    batch_size: int | None = None
    num_steps: int | None = None
    compiled: bool | None = None  # by XLA
    dtype: str | None = None  # of products
    units: float | None = None  # such as questions, of one call

    def row(self):
        """The beginning of its row of results."""
        fields = "mode", "dtype", "batch_size", "num_steps", "compiled"
        return {name: getattr(self, name) for name in fields}

    def __str__(self):
        compiled = ", compiled" if self.compiled else ""
        return f"{self.mode}, batch {self.batch_size}, steps {self.num_steps}{compiled}"


# Arguments and cases


def start(main):
    """Runs a benchmark's program; what is wrong with its arguments is one line."""
    sys.exit(exit_status(main))


def argument_parser(doc, repeats, modes=(), batch_sizes=(), num_steps=()):
    """A parser of what every benchmark of training steps takes; without modes, of a recipe's."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    if modes:
        parser.add_argument("--batch_sizes", type=int, nargs="+", default=batch_sizes, metavar="N")
        parser.add_argument("--modes", nargs="+", choices=modes, default=modes, metavar="MODE")
        parser.add_argument(
            "--compiled",
            choices=["off", "on", "both"],
            default="both" if ON_GPU else "off",
            help="whether XLA compiles towers and update; both where there is a GPU, else off",
        )
    if num_steps:
        parser.add_argument("--num_steps", type=int, nargs="+", default=num_steps, metavar="N")
    parser.add_argument("--repeats", type=int, default=repeats, help="timed steps of every mode")
    text = "the longest kernels (on a CPU, operations) instead of times"
    parser.add_argument("--profile", action="store_true", help=text)
    parser.add_argument("--json", help="write the results to this file")
    return parser


def variants(arguments, num_steps):
    """(steps, mode, compiled) of all rows of a batch size."""
    compiled = {"off": [False], "on": [True], "both": [False, True]}[arguments.compiled]
    return list(itertools.product(num_steps, arguments.modes, compiled))


def take_the_plain_path(network):
    """Makes a `RecurrentRelationalNetwork` run as `rrn.nn.plain` has the paper's equations."""

    def segment(graph, features, num_steps, state, edges=None, globals_=None, **_):
        senders, receivers = graph.edge_list()
        if edges is not None:
            edges = tf.reshape(edges, [-1, edges.shape[-1]])
        if globals_ is not None:
            edges = tf.gather(graph.broadcast_globals_to_nodes(globals_), receivers)
        args = network, senders, receivers, features, num_steps, edges
        return plain.hidden_states(*args), state

    network.segment = segment


def take_the_general_path(network):
    """Gives a `RecurrentRelationalNetwork` its own MLP as a message function of one's own."""
    fast = network.message_fn
    sizes, dtype = (fast.edge_size, fast.global_size), fast.mlp.layers[0].compute_dtype
    function = ConcatenatedMLP(fast.mlp)
    network.message_fn = EdgeMessages(function, fast.output_size, "sum", *sizes, dtype)


def training_step(create, config, arrays, compiled, num_batches=1):
    """A step of a config's first stage, on some batches in turn."""
    encodes_itself = config.variables.encoder_device == "tower"

    def pinned(task):
        return () if encodes_itself else task.encoder.variables

    with plan_placement(create, "auto", DEVICES, pinned=pinned).scope():  # as main.py does
        task = create()
    task.fixed_shapes = compiled
    towers = make_towers(DEVICES, task.network, task.encoder, encodes_itself, compiled)
    _, batch_options = config.model.split_options(config.train.stages[0].options, "options")
    size, seed = config.train.batch_size, config.seed
    (inputs,) = training_inputs(task, arrays, size, 1, seed, 0, options=batch_options)
    trainer = Trainer(task, config.train, towers, [inputs.element_spec], arrays)
    batches = list(inputs.take(num_batches))
    return lambda i: trainer.update_once([batches[i % num_batches]])


def product_case(dtype):
    """The machine's rate, timed among the others, because a shared machine's speed drifts."""

    def make():
        x = tf.cast(tf.random.normal([PRODUCT_SIZE, PRODUCT_SIZE]), dtype)
        return lambda _: [tf.matmul(x, x) for _ in range(IN_A_ROW)]

    return Case("product", make, dtype=dtype, units=IN_A_ROW * 2 * PRODUCT_SIZE**3)


# Measuring


def run(groups, unit, arguments):
    """Measures groups (title, cases that are timed in turn), and prints a table of each."""
    print(hardware())
    result = {"hardware": hardware(), "rates": [], "rows": []}
    for title, cases in groups:
        print(title)
        if arguments.profile:
            rows = [profiled(case, arguments.repeats) for case in cases]
        else:
            rates = [product_case(dtype) for dtype in sorted({case.dtype for case in cases})]
            rows = measure([*rates, *cases], arguments.repeats)
            rates, rows = rows[: len(rates)], rows[len(rates) :]
            first = {}
            for row in rows:
                before = first.setdefault(row["num_steps"], row)
                if "milliseconds" in before and "milliseconds" in row:
                    row["speedup"] = before["milliseconds"] / row["milliseconds"]
            print_rows(rows, unit)
            for row in rates:
                rate = row.get("units_per_second", 0) / 1e9
                print(f"product in {row['dtype']}: {rate:,.0f} GFLOP/s ({PRODUCT_SIZE}² matrices)")
            result["rates"] += rates
        result["rows"] += rows
        write_json(arguments.json, result)  # now, since the next may take long


def measure(cases, repeats):
    """A row of results for each case: medians, all cases in turn on each of the repeats.

    "processor_milliseconds" are those of all threads of this process.

    A case that fails has a row with a "note" instead of results. The others continue.
    """
    rows = [case.row() for case in cases]
    steps = [begin(*both) for both in zip(cases, rows, strict=True)]
    times = [[] for _ in cases]
    for repeat in range(repeats):
        for i, row in enumerate(rows):
            if steps[i]:
                try:
                    start, began = time.perf_counter(), time.process_time()
                    call(steps[i], repeat)
                    times[i].append((time.perf_counter() - start, time.process_time() - began))
                except Exception as error:
                    steps[i] = None
                    note_failure(row, error)
    for i, (case, row) in enumerate(zip(cases, rows, strict=True)):
        if steps[i]:
            seconds, of_processor = map(statistics.median, zip(*times[i], strict=True))
            row["milliseconds"], row["processor_milliseconds"] = 1e3 * seconds, 1e3 * of_processor
            if case.units:
                row["units_per_second"] = case.units / seconds
    return rows


def begin(case, row):
    """A case's training step after its first, uncounted calls; None if there is a note instead."""
    try:
        before = gpu_memory("current")
        if ON_GPU:
            tf.config.experimental.reset_memory_stats("GPU:0")
        start = time.perf_counter()
        step = case.make()
        made = time.perf_counter()
        call(step, 0)
        row["making_seconds"] = made - start
        row["first_call_seconds"] = time.perf_counter() - made
        for _ in range(UNCOUNTED - 1):
            call(step, 0)
        if ON_GPU:
            row["peak_gib"] = (gpu_memory("peak") - before) / 2**30
    except Exception as error:  # whatever goes wrong, the other cases may be right
        note_failure(row, error)
        return None
    print(f"{case}: first call {row['first_call_seconds']:.1f} s", file=sys.stderr, flush=True)
    return step


def call(step, repeat):
    step(repeat)
    tf.test.experimental.sync_devices()


def gpu_memory(which):
    return tf.config.experimental.get_memory_info("GPU:0")[which] if ON_GPU else 0


def note_failure(row, error):
    """Writes an error into a row, and more of it to stderr."""
    text = f"{type(error).__name__}: {error}"
    row["note"] = f"failed: {' '.join(text.split())[:200]}"
    print(f"{row['mode']}, batch {row['batch_size']}: {text[:2000]}", file=sys.stderr, flush=True)


# Profiles


def profiled(case, repeats):
    """A row with the longest kernels of a case, which it prints as well."""
    row = case.row()
    step = begin(case, row)
    if step:
        try:
            row.update(profile(step, repeats))
        except Exception as error:
            note_failure(row, error)
    if "note" in row:
        print(f"{case}: {row['note']}")
        return row
    kernels = f"{row['kernels_a_step']:.0f} kernels or operations, busy {row['busy_ms']:.2f} ms"
    print(f"{case}: {row['wall_ms']:.2f} ms a step; {kernels}")
    cells = [[k["name"][:100], f"{k['count']:.1f}", f"{k['ms']:.3f}"] for k in row["kernels"]]
    print_table(["longest by name", "a step", "ms a step"], cells)
    return row


def profile(step, repeats):
    """Milliseconds of a call and of its kernels, the longest first, from TensorFlow's profiler.

    Busy is the time in which at least one kernel runs. "wall_ms" are without the profiler.
    """
    start = time.perf_counter()
    for i in range(repeats):
        call(step, i)
    wall = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for i in range(repeats):
                call(step, i)
        (file,) = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        kernels = list(read_kernels(file))
    times, counts, each = collections.Counter(), collections.Counter(), 1e9 * repeats
    busy = reached = 0
    for name, begin, end in sorted(kernels, key=lambda kernel: kernel[1]):
        times[name] += end - begin
        counts[name] += 1
        busy += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return {
        "wall_ms": 1e3 * wall / repeats,
        "busy_ms": busy / each,
        "kernels_a_step": len(kernels) / repeats,
        "kernels": [
            {"name": name, "count": counts[name] / repeats, "ms": time_of_all / each}
            for name, time_of_all in times.most_common(LONGEST)
        ],
    }


def read_kernels(file):
    """(name, begin, end) of every kernel that a profile saw; times are integers, in picoseconds.

    On a CPU they are TensorFlow's operations, named by their kind, and XLA's. A loop of XLA is
    there beside what it runs.
    """
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    for plane in xplane_pb2.XSpace.FromString(Path(file).read_bytes()).planes:
        names = {key: value.name for key, value in plane.event_metadata.items()}
        of_xla = {key for key, value in plane.stat_metadata.items() if value.name == "hlo_op"}
        for line in plane.lines:
            if ON_GPU and not ("GPU" in plane.name and line.name.startswith("Stream")):
                continue
            for event in line.events:
                name = names[event.metadata_id]
                if not ON_GPU and of_xla.isdisjoint(stat.metadata_id for stat in event.stats):
                    name = operation_kind(name)
                if name:
                    begin = line.timestamp_ns * 1000 + event.offset_ps
                    yield name, begin, begin + event.duration_ps


def operation_kind(name):
    """The kind of an operation, `MatMul` of `tower_0/MatMul_3:MatMul`; None of another event."""
    node, _, kind = name.rpartition(":")
    is_operation = node.strip(": ") and not node.endswith(":") and kind.strip("_")[:1].isupper()
    return kind if is_operation else None


# Output

# A row's key, the heading, the format.
COLUMNS = [
    ("mode", "mode", "{}"),
    ("batch_size", "batch", "{}"),
    ("num_steps", "steps", "{}"),
    ("compiled", "compiled", "{}"),
    ("milliseconds", "ms", "{:,.2f}"),
    ("processor_milliseconds", "processor, ms", "{:,.2f}"),
    ("making_seconds", "made, s", "{:.1f}"),
    ("first_call_seconds", "first call, s", "{:.1f}"),
    ("units_per_second", "{unit}/s", "{:,.0f}"),
    ("speedup", "speed-up", "{:.2f}"),
    ("peak_gib", "peak, GiB", "{:.2f}"),
    ("note", "", "{}"),
]


def print_rows(rows, unit=""):
    """Prints a table of those of the `COLUMNS` that some row has."""
    shown = [c for c in COLUMNS if any(row.get(c[0]) is not None for row in rows)]

    def cell(row, key, form):
        value = row.get(key)
        return ("" if key == "note" else "-") if value is None else form.format(value)

    headings = [heading.format(unit=unit) for _, heading, _ in shown]
    print_table(headings, [[cell(row, key, form) for key, _, form in shown] for row in rows])


def print_table(columns, rows):
    cells = [columns, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *others = (cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        print("  ".join([first, *others]).rstrip(), flush=True)


def write_json(path, result):
    if path:
        Path(path).write_text(json.dumps(result, indent=1) + "\n")


def hardware():
    """The machine in words."""
    return ", ".join([describe_processor(), *describe_gpus(), f"TensorFlow {tf.__version__}"])
