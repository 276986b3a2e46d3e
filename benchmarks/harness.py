"""What the benchmarks of training steps share: their arguments, steps, memory, and all tables.

Timing in turn and the tables' columns are in `benchmarks.timing`, kernels in `benchmarks.profiles`.
"""

import argparse
import itertools
import resource
import subprocess
import sys
import time

import tensorflow as tf

from benchmarks import timing
from benchmarks.machine import DEVICES, LIBRARY, ON_GPU, hardware, print_rates, rate_cases
from benchmarks.profiles import profiles
from rrn.distribute import plan_placement
from rrn.distribute.towers import make_towers
from rrn.nn.aggregation import ConcatenatedMLP, EdgeMessages
from rrn.tasks.inputs import training_inputs
from rrn.training import Trainer

DTYPES = "float32", "bfloat16"


# Arguments and cases


def argument_parser(*arguments):
    """`timing.argument_parser`, with what a training step of TensorFlow has besides."""
    parser = timing.argument_parser(*arguments)
    parser.add_argument(
        "--compiled",
        choices=["off", "on", "both"],
        default="both" if ON_GPU else "off",
        help="whether XLA compiles towers and update; both where there is a GPU, else off",
    )
    instead = parser.add_mutually_exclusive_group()
    text = "the longest kernels (on a CPU, operations) instead of times"
    instead.add_argument("--profile", action="store_true", help=text)
    if not ON_GPU:  # where every row has the GPU's
        text = "the peak memory of a process for each mode instead of times"
        instead.add_argument("--memory", action="store_true", help=text)
    parser.set_defaults(memory=False)
    parser.add_argument("--peak_memory_of", type=int, help=argparse.SUPPRESS)
    return parser


def variants(arguments, num_steps):
    """(steps, mode, compiled) of all rows of a batch size."""
    compiled = {"off": [False], "on": [True], "both": [False, True]}[arguments.compiled]
    return itertools.product(num_steps, arguments.modes, compiled)


def take_the_general_path(network):
    """Gives a `RecurrentRelationalNetwork` its own MLP as a message function of one's own."""
    fast = network.message_fn
    sizes, dtype = (fast.edge_size, fast.global_size), fast.mlp.layers[0].compute_dtype
    function = ConcatenatedMLP(fast.mlp)
    network.message_fn = EdgeMessages(function, fast.output_size, "sum", *sizes, dtype)
    network.message_fn.mlp = fast.mlp  # whose kernels tasks regularize


def training_step(create, config, arrays, compiled, num_batches=1):
    """A step of the first stage as `timing.Case.make` returns it; call i takes its i-th batch.

    Args:
      create: a function without arguments that makes the task.
      config: the experiment's config.
      arrays: the training split's.
      compiled: whether XLA compiles the step.
      num_batches: after so many batches comes the first one again.
    """
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


def edge_bytes(sizes, relus, dtype):
    """The least bytes that an edge moves in one step of message passing, forward and backward.

    The layers on edges make e_1 .. e_L from e_0, and d_0 .. d_L are the gradients of e_0 .. e_L.
    Those of a large batch do not fit a cache, so that each is moved when an operation reads or
    writes it. The fewest operations are the products, each with all that is elementwise around it
    (biases, ReLUs, their gradients), the sums, and what makes e_0 and d_L from tensors on nodes:

    - e_l is written once, and read by the operation after it: the next product, or the sum.
    - Backward, e_l is read by its ReLU's gradient, if it has one, and, but for e_L, by the product
      that gives the gradient of the next kernel.
    - d_l is written once and read twice: by the products that give the kernel's gradient and
      d_(l-1), or, as d_0, by the sums at the senders and at the receivers.

    So where all have ReLUs, 7 (L + 1) - 1 passes over an edge tensor are made, 20 with two layers.
    Small batches, and a CPU's blocks of edges, stay in the cache, and may take less than this.
    Tensors on nodes and kernels are not counted, nor is what is computed again.

    Args:
      sizes: the sizes of e_0 .. e_L; empty where nothing on edges is written.
      relus: for each whether it is what a ReLU gives.
      dtype: their type.
    """
    passes = [5 + relu + (i < len(sizes) - 1) for i, relu in enumerate(relus)]
    values = sum(size * count for size, count in zip(sizes, passes, strict=True))
    return values * tf.as_dtype(dtype).size


def plain_edge_bytes(pair_size, hidden_size, num_hidden_layers, dtype):
    """`edge_bytes` of the plain formulation: e_0 are the pairs, e_L the messages, without ReLUs."""
    sizes = [pair_size] + [hidden_size] * (num_hidden_layers + 1)
    return edge_bytes(sizes, [False] + [True] * num_hidden_layers + [False], dtype)


def own_edge_bytes(hidden_size, num_hidden_layers, dtype):
    """`edge_bytes` of rrn, where the first and the last layer are not on edges."""
    return edge_bytes([hidden_size] * num_hidden_layers, [True] * num_hidden_layers, dtype)


# Measuring


def run(module, groups, unit, arguments):
    """Measures groups of cases and prints a table of each; writes all figures.

    Args:
      module: the benchmark's name, by which other processes start it.
      groups: (title, cases that are timed in turn) for each table.
      unit: what the cases' units are.
      arguments: the program's.
    """
    deadline = time.monotonic() + arguments.seconds
    cases = [case for _, group in groups for case in group]
    if arguments.peak_memory_of is not None:
        print(own_peak_gib(cases[arguments.peak_memory_of]))
        return
    print(hardware())
    result, first = {"hardware": hardware(), "rates": [], "rows": []}, 0
    for title, group in groups:
        print(title)
        if arguments.memory:
            rows = peak_memories(module, group, first, deadline)
            timing.print_rows(rows)
        elif arguments.profile:
            rows = profiles(group, arguments.repeats, deadline)
        else:
            rows, rates = speeds(group, arguments.repeats, deadline)
            timing.print_rows(rows, unit)
            print_rates(rates)
            result["rates"] += rates
        result["rows"] += rows
        timing.write_json(arguments.json, result)  # now, since the next may take long
        first += len(group)


def speeds(cases, repeats, deadline):
    """(a row for each case, a row for each of the machine's rates), all timed in turn."""
    own = rate_cases(sorted({case.dtype for case in cases}, reverse=True))
    rows = timing.measure([*own, *cases], LIBRARY, repeats, deadline)
    rates, rows = rows[: len(own)], rows[len(own) :]
    products = {c.dtype: row.get("gigaflop_per_second") for c, row in zip(own, rates, strict=True)}
    copy = rates[-1].get("gigabyte_per_second")
    first = {}
    for case, row in zip(cases, rows, strict=True):
        timed = "milliseconds" in row
        if timed and case.operations and products[case.dtype]:
            row["share_of_product"] = row["gigaflop_per_second"] / products[case.dtype]
        if timed and case.bytes_moved and copy:
            row["share_of_copy"] = row["gigabyte_per_second"] / copy
        first.setdefault(case.num_steps, row)
        if timed and "milliseconds" in first[case.num_steps]:
            row["speedup"] = first[case.num_steps]["milliseconds"] / row["milliseconds"]
    return rows, rates


def peak_memories(module, cases, first, deadline):
    """A row with the peak memory for each case; the number of the first one is `first`."""
    rows = [case.row() for case in cases]
    for i, row in enumerate(rows, first):
        if time.monotonic() > deadline:
            row["note"] = timing.LEFT_OUT
            continue
        command = [sys.executable, "-m", module, *sys.argv[1:], "--peak_memory_of", str(i)]
        try:
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            row["peak_gib"] = float(done.stdout)
        except (subprocess.CalledProcessError, ValueError) as error:
            timing.note_failure(row, error)
    return rows


def own_peak_gib(case):
    """This process's peak of resident memory after two training steps, TensorFlow included."""
    step = case.make()
    for _ in range(2):
        LIBRARY.wait(step(0))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
