"""The benchmarks of training steps: what they do with failures, and tiny runs."""

import json
import sys
from unittest import mock

import pytest
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from benchmarks import babi_step, harness, objects_step, recipe_step, sudoku_step


def case(mode, step):
    return harness.Case(mode, lambda: step, batch_size=2, num_steps=1, units=2)


def failing(repeat):
    if repeat:
        raise MemoryError("so many\n  bytes")


def test_cases_are_called_uncounted_and_then_in_turn_and_a_failure_leaves_the_others():
    calls = []

    def unmade():
        raise ValueError("no shape")

    cases = case("later", failing), harness.Case("unmade", unmade), case("right", calls.append)
    rows = harness.measure(cases, 3)
    assert calls == [0, 0, 0, 1, 2]
    notes = [row.get("note") for row in rows]
    assert notes == ["failed: MemoryError: so many bytes", "failed: ValueError: no shape", None]
    assert ["milliseconds" in row for row in rows] == [False, False, True]
    seconds = rows[2]["milliseconds"] / 1e3
    assert rows[2]["units_per_second"] == pytest.approx(2 / seconds)


def test_kernels_of_a_gpu_are_what_its_streams_run(monkeypatch, tmp_path):
    names = "tower_0/MatMul_3:_MklMatMul", "ExecutorState::Process", "EagerExecute", ":Mul"
    assert [harness.operation_kind(name) for name in names] == ["_MklMatMul", None, None, None]
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
    monkeypatch.setattr(harness, "ON_GPU", True)
    assert list(harness.read_kernels(file)) == [("fusion of /device:GPU:0", 2005, 2035)]


@pytest.fixture
def plain_calls(monkeypatch):
    calls = mock.Mock(wraps=harness.plain.hidden_states)
    monkeypatch.setattr(harness.plain, "hidden_states", calls)
    return calls


def run(benchmark, monkeypatch, tmp_path, *flags):
    """The rows that a benchmark writes."""
    path = tmp_path / "results.json"
    sizes = [] if benchmark == recipe_step else ["--batch_sizes", "2"]
    arguments = [*sizes, "--repeats", "2", "--json", str(path), *flags]
    monkeypatch.setattr(sys, "argv", [benchmark.__name__, *arguments])
    monkeypatch.setattr(harness, "PRODUCT_SIZE", 64)
    benchmark.main()
    return json.loads(path.read_text())["rows"]


def test_sudoku_step(plain_calls, monkeypatch, tmp_path, capsys):
    modes = ["plain float32", "general float32"]
    rows = run(sudoku_step, monkeypatch, tmp_path, "--num_steps", "1", "--modes", *modes)
    assert [row["mode"] for row in rows] == modes
    plain, general = rows
    assert plain_calls.call_count == 1  # of plain, and not of general
    assert general["speedup"] == pytest.approx(plain["milliseconds"] / general["milliseconds"])
    assert "board-steps/s" in capsys.readouterr().out


def test_a_profile(monkeypatch, tmp_path):
    flags = ["--num_steps", "1", "--modes", "rrn float32", "--profile"]
    (row,) = run(sudoku_step, monkeypatch, tmp_path, *flags)
    times = [kernel["ms"] for kernel in row["kernels"]]
    assert 0 < len(times) <= harness.LONGEST and times == sorted(times, reverse=True)
    assert row["busy_ms"] > 0 and row["wall_ms"] > 0
    assert "MatMul" in str(row["kernels"])


def test_babi_step(small_babi_h5, plain_calls, monkeypatch, tmp_path):
    flags = ["--data", str(small_babi_h5), "--num_steps", "1", "--modes", "plain float32"]
    (row,) = run(babi_step, monkeypatch, tmp_path, *flags)
    assert row["milliseconds"] > 0 and plain_calls.called


def test_objects_step(plain_calls, monkeypatch, tmp_path):
    flags = ["--tasks", "pretty_clevr", "--modes", "plain float32"]
    (row,) = run(objects_step, monkeypatch, tmp_path, *flags)
    assert row["mode"] == "pretty_clevr plain float32" and row["milliseconds"] > 0
    assert plain_calls.called


def test_recipe_step(small_sudoku_h5, monkeypatch, tmp_path):
    flags = [f"--config.data.path={small_sudoku_h5}", "--config.model.hidden_size=8"]
    rows = run(recipe_step, monkeypatch, tmp_path, "configs/sudoku.py:test", *flags)
    assert all(row["processor_milliseconds"] > 0 and row["batch_size"] for row in rows)
