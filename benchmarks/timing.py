"""What the benchmarks of training steps share, TensorFlow apart: arguments, timing in turn, tables.

`benchmarks.machine` adds what TensorFlow is asked for. A library is a `Library`, and a training
step that is to be timed a `Case`.
"""

import argparse
import dataclasses
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from rrn.data_prep.writing import whole

LEFT_OUT = "left out: the time is up"


@dataclasses.dataclass
class Case:
    """A training step that is to be measured.

    Attributes:
      mode: its name.
      make: a function without arguments that returns the training step, a function of the repeat's
        number.
      batch_size, num_steps: its sizes.
      compiled: whether XLA compiles it; None where the mode's name says all.
      dtype: the type of products.
      units: how many units (such as questions) a call works through.
      operations: multiplications and additions of products in a call; None if they are not counted.
      bytes_moved: the least bytes that a call moves; None if they are not counted.
    """

    mode: str
    make: Callable[[], Callable[[int], Any]]
    batch_size: int | None = None
    num_steps: int | None = None
    compiled: bool | None = None
    dtype: str | None = None
    units: float | None = None
    operations: float | None = None
    bytes_moved: float | None = None

    def row(self):
        """The beginning of its row of figures."""
        fields = "mode", "dtype", "batch_size", "num_steps", "compiled"
        return {name: getattr(self, name) for name in fields}

    def __str__(self):
        compiled = ", compiled" if self.compiled else ""
        return f"{self.mode}, batch {self.batch_size}, steps {self.num_steps}{compiled}"


class Library:
    """What is asked of the library that runs the training steps. Such as it is, a CPU is at work.

    Attributes:
      uncounted: how many times each training step is called before it is timed.
    """

    uncounted = 2

    def wait(self, result):
        """Returns when the devices have done all that they were given."""

    def bytes_in_use(self):
        """The bytes of a GPU's memory in use; the peak begins here. None on a CPU."""

    def peak_bytes(self):
        """The most bytes in use since then."""


def argument_parser(doc, modes, batch_sizes, num_steps, repeats):
    """A parser of what every benchmark of training steps takes.

    Args:
      doc: the benchmark's docstring.
      modes: names of all modes.
      batch_sizes, num_steps, repeats: the defaults; num_steps is None where the task gives it.
    """
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("--batch_sizes", type=int, nargs="+", default=batch_sizes, metavar="N")
    if num_steps:
        parser.add_argument("--num_steps", type=int, nargs="+", default=num_steps, metavar="N")
    parser.add_argument("--modes", nargs="+", choices=modes, default=modes, metavar="MODE")
    parser.add_argument("--repeats", type=int, default=repeats, help="timed steps of every mode")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="after so many, no further mode is begun; those left out are named",
    )
    parser.add_argument("--json", help="write the figures to this file")
    return parser


def measure(cases, library, repeats, deadline):
    """A row of figures for each case: medians, all cases in turn on each of the repeats.

    "processor_milliseconds" are those of all threads of this process.

    A case that fails, or that is not begun because it is later than `deadline` (of
    `time.monotonic`), has a row with a "note" in place of figures. The others go on.
    """
    rows = [case.row() for case in cases]
    steps = [begin(*both, library, deadline) for both in zip(cases, rows, strict=True)]
    seconds, of_processor = [[] for _ in cases], [[] for _ in cases]
    for repeat in range(repeats):
        for i, row in enumerate(rows):
            if steps[i]:
                try:
                    start, began = time.perf_counter(), time.process_time()
                    library.wait(steps[i](repeat))
                    seconds[i].append(time.perf_counter() - start)
                    of_processor[i].append(time.process_time() - began)
                except Exception as error:
                    steps[i] = None
                    note_failure(row, error)
    for i, (case, row) in enumerate(zip(cases, rows, strict=True)):
        if steps[i]:
            row.update(figures(case, statistics.median(seconds[i])))
            row["processor_milliseconds"] = 1e3 * statistics.median(of_processor[i])
    return rows


def begin(case, row, library, deadline):
    """A case's training step after its first, uncounted calls; None if there is a note instead."""
    if time.monotonic() > deadline:
        row["note"] = LEFT_OUT
        return None
    try:
        before = library.bytes_in_use()
        start = time.perf_counter()
        step = case.make()
        made = time.perf_counter()
        library.wait(step(0))
        row["making_seconds"] = made - start
        row["first_call_seconds"] = time.perf_counter() - made
        for _ in range(library.uncounted - 1):
            library.wait(step(0))
        if before is not None:
            row["peak_gib"] = (library.peak_bytes() - before) / 2**30
    except Exception as error:  # whatever goes wrong, the other cases may be right
        note_failure(row, error)
        return None
    if case.batch_size:  # for who waits
        seconds = "made in {making_seconds:.1f} s, first call {first_call_seconds:.1f} s"
        print(f"{case}: {seconds.format(**row)}", file=sys.stderr, flush=True)
    return step


def note_failure(row, error):
    """Writes an error into a row, and more of it to stderr."""
    text = f"{type(error).__name__}: {error}"
    row["note"] = f"failed: {' '.join(text.split())[:200]}"
    print(f"{row['mode']}, batch {row['batch_size']}: {text[:2000]}", file=sys.stderr, flush=True)


def figures(case, seconds):
    """What follows from a case's counts and the seconds of a call."""
    result = {"milliseconds": 1e3 * seconds}
    if case.units:
        result["units_per_second"] = case.units / seconds
    if case.operations:
        result["gigaflop"] = case.operations / 1e9
        result["gigaflop_per_second"] = case.operations / seconds / 1e9
    if case.bytes_moved:
        result["gigabyte"] = case.bytes_moved / 1e9
        result["gigabyte_per_second"] = case.bytes_moved / seconds / 1e9
    return result


def cpu():
    """The CPU in words."""
    with open("/proc/cpuinfo") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {models[0] if models else platform.processor()}"


# Of the tables: a row's key, the heading, the format.
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
    ("gigaflop", "GFLOP", "{:,.1f}"),
    ("share_of_product", "of product", "{:.1%}"),
    ("share_of_copy", "of copy", "{:.1%}"),
    ("peak_gib", "peak, GiB", "{:.2f}"),
    ("note", "", "{}"),
]


def print_rows(rows, unit=""):
    """Prints a table of those of the `COLUMNS` that some row has.

    Args:
      rows: dictionaries.
      unit: what a row's "units_per_second" counts.
    """
    shown = [c for c in COLUMNS if any(row.get(c[0]) is not None for row in rows)]

    def cell(row, key, form):
        value = row.get(key)
        value = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        return ("" if key == "note" else "-") if value is None else form.format(value)

    headings = [heading.format(unit=unit) for _, heading, _ in shown]
    print_table(headings, [[cell(row, key, form) for key, _, form in shown] for row in rows])


def print_table(columns, rows):
    cells = [columns, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print(
            "  ".join(
                cell.rjust(w) if i and columns[i] else cell.ljust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip(),
            flush=True,
        )


def write_json(path, result):
    if path:
        with whole(path) as temporary:
            temporary.write_text(json.dumps(result, indent=1) + "\n")
