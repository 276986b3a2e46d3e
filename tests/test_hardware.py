"""What a machine has, on machines that are made up."""

import pytest

from rrn import hardware
from tests.helpers import executable


def test_gpus_that_nvidia_smi_names(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    executable(tmp_path / "nvidia-smi", "echo NVIDIA A, 9 MiB; echo NVIDIA B, 8 MiB")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert hardware.describe_gpus() == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert hardware.describe_gpus() == ["NVIDIA A, 9 MiB", "NVIDIA B, 8 MiB"]


@pytest.mark.parametrize(
    ("name", "flags", "faster"),
    [
        ("AMD EPYC", "avx512f avx512_bf16", True),
        ("AMD EPYC", "avx2", False),
        ("Intel Xeon", "avx512f avx512_bf16", False),
        ("Intel Xeon", "avx512f avx512_bf16 amx_bf16", True),
    ],
)
def test_processors_whose_products_are_faster_in_bfloat16(monkeypatch, name, flags, faster):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    cpuinfo = f"model name\t: {name}\nflags\t\t: {flags}\n"
    monkeypatch.setattr(hardware, "read_text", lambda _: cpuinfo)
    assert hardware.multiplies_bfloat16_faster.__wrapped__() == faster
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert not hardware.multiplies_bfloat16_faster.__wrapped__()


@pytest.mark.parametrize(
    ("gpus", "processor", "expected"),
    [([], False, "float32"), ([], True, "bfloat16"), (["H200"], False, "bfloat16")],
)
def test_the_type_in_which_a_machine_multiplies_faster(monkeypatch, gpus, processor, expected):
    monkeypatch.setattr(hardware, "describe_gpus", lambda: gpus)
    monkeypatch.setattr(hardware, "multiplies_bfloat16_faster", lambda: processor)
    assert hardware.faster_type.__wrapped__() == expected


def test_the_processor_and_the_cores_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(hardware.os, "sched_getaffinity", lambda pid: {3, 5, 6}, raising=False)
    cpuinfo = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f\n"
    monkeypatch.setattr(hardware, "read_text", lambda _: cpuinfo)
    assert hardware.describe_processor() == "3 cores of AMD EPYC, AVX2, AVX-512"
