"""The benchmarks of training steps: what they count, what they do with failures, and tiny runs."""

import json
import math
import re
import sys
import time

import pytest
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from benchmarks import (
    babi_step,
    harness,
    machine,
    objects_step,
    profiles,
    recipe_step,
    sudoku_step,
    timing,
)


def case(mode, step, **counts):
    return timing.Case(mode, lambda: step, batch_size=2, num_steps=1, **counts)


def failing(repeat):
    raise MemoryError("so many\n  bytes")


def failing_later(repeat):
    if repeat:
        failing(repeat)


def measure(*cases, seconds=60.0):
    return timing.measure(cases, timing.Library(), 3, time.monotonic() + seconds)


def test_a_case_is_called_uncounted_then_once_for_each_repeat():
    calls = []
    (row,) = measure(case("right", calls.append, units=2, operations=4e6, bytes_moved=6e6))
    assert calls == [0, 0, 0, 1, 2]
    seconds = row["milliseconds"] / 1e3
    assert row["gigaflop"] == pytest.approx(4e-3)
    for name, amount in (("units", 2), ("gigaflop", 4e-3), ("gigabyte", 6e-3)):
        assert row[f"{name}_per_second"] == pytest.approx(amount / seconds)


def test_cases_that_fail_say_so_and_the_others_go_on():
    def unmade():
        raise ValueError("no shape")

    rows = measure(
        case("first", failing),
        case("later", failing_later),
        timing.Case("unmade", unmade),
        case("right", lambda repeat: None),
    )
    notes = [row.get("note") for row in rows]
    memory = "failed: MemoryError: so many bytes"
    assert notes == [memory, memory, "failed: ValueError: no shape", None]
    assert ["milliseconds" in row for row in rows] == [False, False, False, True]


def test_no_case_is_begun_when_the_time_is_up(capsys):
    rows = measure(case("late", failing), seconds=-1.0)
    assert rows[0]["note"] == timing.LEFT_OUT
    timing.print_rows(rows)
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["mode", "batch", "steps"]
    assert re.fullmatch(rf"late +2 +1 +{timing.LEFT_OUT}", line)


def test_passes_over_edge_tensors():
    # Two layers of 96: e_0 and e_1 are moved 4 times each, e_2 3 times, d_0 to d_2 3 times each.
    assert harness.own_edge_bytes(96, 3, "bfloat16") == 20 * 96 * 2
    # Pairs of 192 without a ReLU, three ReLU layers, messages without: 6 * 2 + 7 * 3 + 5.
    assert harness.plain_edge_bytes(192, 96, 3, "float32") == 38 * 96 * 4


def test_the_time_that_intervals_cover():
    assert profiles.union([(5, 7), (1, 3), (2, 4), (2, 3), (7, 8)]) == 6


def test_operations_are_told_from_other_events():
    names = "tower_0/MatMul_3:_MklMatMul", "ExecutorState::Process", "EagerExecute", ":Mul"
    assert [profiles.operation_kind(name) for name in names] == ["_MklMatMul", None, None, None]


def test_kernels_of_a_gpu_are_what_its_streams_run(monkeypatch, tmp_path):
    space = xplane_pb2.XSpace()
    lines = {"/device:GPU:0": ["Stream #13(Kernel)", "XLA Ops"], "/host:CPU": ["Stream #1"]}
    for plane_name, line_names in lines.items():
        plane = space.planes.add(name=plane_name)
        plane.event_metadata[7].name = f"fusion of {plane_name}"
        for line_name in line_names:
            line = plane.lines.add(name=line_name, timestamp_ns=2)
            line.events.add(metadata_id=7, offset_ps=5, duration_ps=30)
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(space.SerializeToString())
    monkeypatch.setattr(profiles, "ON_GPU", True)
    assert list(profiles.read_kernels(file)) == [("fusion of /device:GPU:0", 2005, 2035)]


def run(benchmark, monkeypatch, tmp_path, *flags):
    """The rows that a benchmark writes."""
    path = tmp_path / "figures.json"
    sizes = [] if benchmark == recipe_step else ["--batch_sizes", "2"]
    arguments = [*sizes, "--repeats", "2", "--json", str(path), *flags]
    monkeypatch.setattr(sys, "argv", [benchmark.__name__, *arguments])
    monkeypatch.setattr(machine, "PRODUCT_SIZE", 64)
    monkeypatch.setattr(machine, "COPY_SIZE", 64)
    benchmark.main()
    return json.loads(path.read_text())["rows"]


def test_sudoku_step(monkeypatch, tmp_path, capsys):
    modes = ["plain float32", "rrn float32", "rrn recompute bfloat16", "general float32"]
    rows = run(sudoku_step, monkeypatch, tmp_path, "--num_steps", "2", "--modes", *modes)
    assert [row["mode"] for row in rows] == modes
    assert all(math.isfinite(row["share_of_product"] * row["share_of_copy"]) for row in rows)
    plain, own, _, general = rows
    assert own["gigaflop"] < general["gigaflop"] < plain["gigaflop"]
    assert own["speedup"] == pytest.approx(plain["milliseconds"] / own["milliseconds"])
    assert "board-steps/s" in capsys.readouterr().out


def test_a_profile_of_a_compiled_step(monkeypatch, tmp_path):
    flags = ["--num_steps", "1", "--modes", "rrn float32", "--profile", "--compiled", "both"]
    rows = run(sudoku_step, monkeypatch, tmp_path, *flags)
    assert [row["compiled"] for row in rows] == [False, True]
    for row in rows:
        times = [kernel["ms"] for kernel in row["kernels"]]
        assert 0 < len(times) <= profiles.LONGEST and times == sorted(times, reverse=True)
        assert row["busy_ms"] > 0 and row["wall_ms"] > 0
    assert "MatMul" in str(rows[0]["kernels"])


@pytest.mark.slow
def test_babi_step(small_babi_h5, monkeypatch, tmp_path):
    flags = ["--data", str(small_babi_h5), "--modes", "plain float32", "rrn float32"]
    rows = run(babi_step, monkeypatch, tmp_path, "--compiled", "both", "--num_steps", "1", *flags)
    found = [(row["mode"], row["compiled"], "milliseconds" in row) for row in rows]
    own = "rrn float32"
    assert found == [("plain float32", False, True), (own, False, True), (own, True, True)]


def test_objects_step(monkeypatch, tmp_path):
    rows = run(objects_step, monkeypatch, tmp_path, "--modes", "rrn float32", "general float32")
    ways = [f"{task} {way} float32" for task in objects_step.TASKS for way in ("rrn", "general")]
    assert [row["mode"] for row in rows] == ways
    assert ["share_of_copy" in row for row in rows] == [False, True, True, True]


@pytest.mark.slow
def test_recipe_step(small_babi_h5, monkeypatch, tmp_path):
    flags = [f"--config.data.path={small_babi_h5}", "--config.model.hidden_size=8"]
    rows = run(recipe_step, monkeypatch, tmp_path, "configs/babi.py:frozen_encoders", *flags)
    assert [row["mode"].split()[1] for row in rows] == ["network", "all"]
    assert all(row["processor_milliseconds"] > 0 and row["batch_size"] == 64 for row in rows)


@pytest.mark.slow
def test_peak_memory_is_of_a_process_that_runs_one_way(monkeypatch, tmp_path):
    flags = ["--tasks", "pretty_clevr", "--modes", "plain float32", "rrn bfloat16", "--memory"]
    rows = run(objects_step, monkeypatch, tmp_path, *flags)
    assert [row["mode"].split(" ", 1)[1] for row in rows] == ["plain float32", "rrn bfloat16"]
    assert all(0.1 < row["peak_gib"] < 10 for row in rows)
