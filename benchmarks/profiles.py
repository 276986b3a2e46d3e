"""Profiles: the longest kernels of a training step, on a CPU its longest operations."""

import collections
import glob
import tempfile
import time

import tensorflow as tf

from benchmarks import timing
from benchmarks.machine import LIBRARY, ON_GPU

LONGEST = 20  # of a profile's kernels


def profiles(cases, repeats, deadline):
    """A row with the longest kernels of each case, which it prints as well."""
    rows = [case.row() for case in cases]
    for case, row in zip(cases, rows, strict=True):
        step = timing.begin(case, row, LIBRARY, deadline)
        if step:
            try:
                row.update(profile(step, repeats))
            except Exception as error:
                timing.note_failure(row, error)
        print_profile(case, row)
    return rows


def profile(step, repeats):
    """Milliseconds of a call and of its kernels, the longest first, from TensorFlow's profiler.

    Busy is the time in which at least one kernel runs. "wall_ms" are without the profiler.
    """
    start = time.perf_counter()
    for i in range(repeats):
        LIBRARY.wait(step(i))
    wall = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for i in range(repeats):
                LIBRARY.wait(step(i))
        (file,) = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        kernels = list(read_kernels(file))
    times, counts, each = collections.Counter(), collections.Counter(), 1e9 * repeats
    for name, begin, end in kernels:
        times[name] += end - begin
        counts[name] += 1
    return {
        "wall_ms": 1e3 * wall / repeats,
        "busy_ms": union((begin, end) for _, begin, end in kernels) / each,
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

    with open(file, "rb") as opened:
        space = xplane_pb2.XSpace.FromString(opened.read())
    for plane in space.planes:
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


def union(intervals):
    """The length of what pairs (begin, end) cover."""
    covered = reached = 0
    for begin, end in sorted(intervals):
        covered += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def print_profile(case, row):
    if "note" in row:
        print(f"{case}: {row['note']}")
        return
    print(
        f"{case}: {row['wall_ms']:.2f} ms a step; {row['kernels_a_step']:.0f} kernels or "
        f"operations, busy for {row['busy_ms']:.2f} ms"
    )
    cells = [[k["name"][:100], f"{k['count']:.1f}", f"{k['ms']:.3f}"] for k in row["kernels"]]
    timing.print_table(["longest by name", "a step", "ms a step"], cells)
