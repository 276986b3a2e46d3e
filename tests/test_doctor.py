"""The doctor here, and on machines that are made up."""

import os
import re
import subprocess
import sys

import pytest
import tensorflow as tf

from rrn import doctor
from tests.helpers import ROOT, executable

RIGHT = {"seconds": 0.5, "error": 1e-4, "size": 8192, "rate": 400.0}
TENSORFLOW = {
    "version": "2.21.0",
    "folder": "/nothing/tensorflow",
    "cuda": "12.5.1",
    "cudnn": "9",
    "gpus": ["NVIDIA H100, compute capability 9.0"],
    "said": ["W0000 Cannot dlopen some GPU libraries."],
}


@pytest.fixture
def machine(monkeypatch):
    """(what processes answer, by call; what `find_nvidia` finds; missing libraries; tools)."""
    answers = {
        ("_describe_tensorflow",): dict(TENSORFLOW),
        ("_multiply", "CPU:0"): {dtype: dict(RIGHT) for dtype in doctor.TYPES},
        ("_multiply", "GPU:0"): {dtype: dict(RIGHT) for dtype in doctor.TYPES},
    }
    nvidia = ["580.1.2", ["NVIDIA H100, 81559 MiB"]]
    missing = set()
    places = {"ptxas": "/cuda/bin/ptxas", "libdevice.10.bc": "/cuda/libdevice.10.bc"}

    def open_library(name, folder):
        return ("", "not found") if name in missing else (f"/lib/{name}", "")

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(doctor, "_apart", lambda *called: answers[called])
    monkeypatch.setattr(doctor, "find_nvidia", lambda: nvidia)
    monkeypatch.setattr(doctor, "open_library", open_library)
    monkeypatch.setattr(doctor, "find_tools", lambda folder: places)
    return answers, nvidia, missing, places


def run(capsys):
    """(the exit status, all lines, those of what is to be done, the verdict)."""
    status = doctor.main()
    lines = capsys.readouterr().out.splitlines()
    todo = [line.removeprefix("to do: ") for line in lines if line.startswith("to do: ")]
    assert lines[-1].startswith("verdict: ")
    return status, lines, todo, lines[-1].removeprefix("verdict: ")


# Verdicts


def test_a_gpu_that_works(machine, capsys):
    status, lines, todo, verdict = run(capsys)
    assert (status, todo) == (0, [])
    assert verdict == "everything works; TensorFlow will use GPU:0"
    assert "  libcudnn.so.9: /lib/libcudnn.so.9" in lines
    product = "right; compiled in 0.5 seconds; 400 TFLOP/s with 8,192 x 8,192"
    assert f"  GPU:0, bfloat16: {product}" in lines


def test_missing_libraries_are_named_with_what_installs_them(machine, capsys):
    answers, _, missing, places = machine
    answers["_describe_tensorflow",]["gpus"] = []
    missing |= {"libcublas.so.12", "libnccl.so.2"}
    places["ptxas"] = ""
    status, lines, todo, verdict = run(capsys)
    assert status == 1 and verdict == "TensorFlow cannot use 1 of this machine's 1 GPUs"
    assert {"  libcublas.so.12: not found", "  ptxas: not found"} < set(lines)
    assert "  libnccl.so.2: not found (optional)" in lines
    assert todo == [
        f"libcublas.so.12, ptxas: {doctor.INSTALL}",
        "TensorFlow said: W0000 Cannot dlopen some GPU libraries.",
    ]


@pytest.mark.parametrize(
    ("visible", "status", "verdict"),
    [
        ("", 0, "TensorFlow will use the CPU: CUDA_VISIBLE_DEVICES shows no GPU"),
        ("-1", 0, "TensorFlow will use the CPU: CUDA_VISIBLE_DEVICES shows no GPU"),
        ("0,1", 1, "TensorFlow cannot use 1 of this machine's 1 GPUs"),
    ],
)
def test_gpus_may_be_hidden(machine, capsys, monkeypatch, visible, status, verdict):
    machine[0]["_describe_tensorflow",]["gpus"] = []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found, lines, todo, said = run(capsys)
    assert (found, said) == (status, verdict) and bool(todo) == bool(status)
    assert f"CUDA_VISIBLE_DEVICES shows of them: {visible or 'none'}" in lines


def test_no_gpu_is_fine(machine, capsys):
    answers, nvidia, missing, _ = machine
    answers["_describe_tensorflow",]["gpus"] = nvidia[1] = []
    nvidia[0] = None
    missing |= {"libcuda.so.1", "libcublas.so.12"}
    assert run(capsys)[::2] == (0, [])


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({**RIGHT, "error": 0.5}, "WRONG, relative error 0.5; compiled in 0.5 seconds; 400 "),
        ({**RIGHT, "error": float("nan")}, "WRONG, relative error nan; "),
        ({"failed": "TensorFlow: InternalError: no libdevice"}, "failed: TensorFlow: Internal"),
    ],
)
def test_a_wrong_product(machine, capsys, result, said):
    machine[0]["_multiply", "GPU:0"]["bfloat16"] = result
    status, lines, _, verdict = run(capsys)
    assert status == 1 and verdict == "products are wrong, or failed, on GPU:0"
    assert any(line.startswith(f"  GPU:0, bfloat16: {said}") for line in lines)


def test_a_crash_on_a_device(machine, capsys):
    machine[0]["_multiply", "GPU:0"] = {"error": "crashed with signal 6: F0000 no"}
    status, lines, _, verdict = run(capsys)
    assert status == 1 and verdict == "products are wrong, or failed, on GPU:0"
    assert "  GPU:0: crashed with signal 6: F0000 no" in lines


def test_a_tensorflow_that_does_not_start(machine, capsys):
    machine[0]["_describe_tensorflow",] = {"error": "ImportError: no"}
    status, _, todo, verdict = run(capsys)
    assert (status, todo) == (1, []) and verdict == "TensorFlow does not start: ImportError: no"


@pytest.mark.parametrize(
    ("driver", "cuda", "missing", "advice"),
    [
        (None, "12.5.1", {"libcuda.so.1"}, "install NVIDIA's driver; "),
        ("580.1.2", "12.5.1", {"libcuda.so.1"}, "install NVIDIA's driver; "),
        ("580.1.2", None, set(), "this TensorFlow is built without CUDA: "),
        ("470.9", "12.5.1", set(), "NVIDIA's driver 470.9 is too old: CUDA 12.5.1 needs 525 "),
        ("[N/A]", "12.5.1", set(), "TensorFlow said: "),
    ],
)
def test_other_reasons_why_a_gpu_is_not_seen(machine, capsys, driver, cuda, missing, advice):
    machine[0]["_describe_tensorflow",] |= {"gpus": [], "cuda": cuda}
    machine[1][0] = driver
    machine[2].update(missing)
    status, _, todo, _ = run(capsys)
    assert status == 1 and todo[0].startswith(advice)


# Facts


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_the_doctor_of_this_machine():
    """Without its GPUs, which may be anything."""
    done = subprocess.run(
        [sys.executable, "-m", "rrn.doctor"],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("verdict: TensorFlow will use the CPU: ") and done.stderr == ""
    assert f"TensorFlow {tf.__version__}, built " in lines[1]
    assert [line.partition("; ")[0] for line in lines if line.startswith("  CPU:0")] == [
        f"  CPU:0, {dtype}: right" for dtype in doctor.TYPES
    ]


@pytest.mark.timeout(100)
def test_what_a_process_of_its_own_did_not_return(tmp_path, monkeypatch):
    assert doctor._apart("nothing")["error"].startswith("AttributeError: ")
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_nonsense")  # with which XLA ends the process
        assert "Unknown flag in XLA_FLAGS" in doctor._apart("_multiply", "CPU:0")["error"]
        patch.setattr(doctor, "SECONDS", 0.01)
        assert doctor._apart("_multiply", "CPU:0") == {"error": "no answer within 0.01 seconds"}
    executable(tmp_path / "python", "echo no device >&2; kill -ABRT $$")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert doctor._apart("_multiply", "CPU:0") == {"error": "crashed with signal 6: no device"}


def test_products_are_compared(monkeypatch):
    assert doctor._product(tf, "float32", 64)["error"] < 1e-5
    matmul = tf.matmul
    monkeypatch.setattr(tf, "matmul", lambda a, b: matmul(a, b) * tf.cast(1.25, a.dtype))
    for dtype in doctor.TYPES:
        assert doctor._product(tf, dtype, 64)["error"] == pytest.approx(0.25, rel=0.01)


def test_the_system_in_words(tmp_path, monkeypatch):
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:  2097152 kB\nMemAvailable:  1048576 kB\n")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{2**29}\n")
    what, memory, disk, _ = doctor._system(tmp_path, tmp_path)
    assert re.match(rf"rrn [\d.]+ in {ROOT / 'rrn'}; Linux-", what)
    assert memory == "memory: 1.0 GiB of 2.0 GiB are free; this container may have 0.5 GiB"
    assert disk.startswith(f"{tmp_path}: ") and disk.endswith("are free; files there can be locked")

    def refuse(file, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    _, memory, disk, _ = doctor._system(tmp_path, tmp_path)
    assert memory.endswith("2.0 GiB are free")
    assert disk.endswith("a run cannot lock its folder there: [Errno 37] No locks available")
