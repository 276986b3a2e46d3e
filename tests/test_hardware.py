"""What a machine has, here and on machines that are made up."""

import os

import pytest

from rrn import hardware
from tests.helpers import executable


def test_libraries_are_opened_where_tensorflow_looks(tmp_path, monkeypatch):
    folder = str(tmp_path / "tensorflow")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert hardware.open_library("libnothing.so.1", folder) == ("", "not found")
    system, wrong = hardware.open_library("libm.so.6", folder)
    assert os.path.basename(system).startswith("libm.so") and not wrong
    pip = tmp_path / "nvidia/math/lib/libm.so.6"
    pip.parent.mkdir(parents=True)
    pip.symlink_to(system)
    assert hardware.open_library("libm.so.6", folder) == (str(pip), "")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    (tmp_path / "libm.so.6").symlink_to(system)
    assert hardware.open_library("libm.so.6", folder) == (str(tmp_path / "libm.so.6"), "")
    damaged = tmp_path / "libnothing.so.1"
    damaged.write_bytes(b"no library")
    where, wrong = hardware.open_library("libnothing.so.1", folder)
    assert where == "" and wrong.startswith(f"{damaged}: ")


def test_names_of_libraries_follow_cudas_version():
    twelve, thirteen = (hardware.library_names(cuda, "9.1") for cuda in ("12.5.1", "13.0"))
    assert {"libcudart.so.12", "libcufft.so.11", "libcusolver.so.11"} < set(twelve)
    assert {"libcudart.so.13", "libcufft.so.12", "libcusolver.so.12"} < set(thirteen)
    both = {"libcuda.so.1", "libcurand.so.10", "libcusparse.so.12", "libcudnn.so.9"}
    assert both < set(twelve) & set(thirteen)


def test_tools_are_found_in_xlas_order(tmp_path, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    executable(tmp_path / "bin/ptxas", "")
    assert hardware.find_tools(str(tmp_path))["ptxas"] == str(tmp_path / "bin/ptxas")
    monkeypatch.setenv("XLA_FLAGS", f"--other --xla_gpu_cuda_data_dir={tmp_path}/cuda")
    executable(tmp_path / "cuda/bin/ptxas", "")
    (tmp_path / "cuda/nvvm/libdevice").mkdir(parents=True)
    (tmp_path / "cuda/nvvm/libdevice/libdevice.10.bc").touch()
    assert hardware.find_tools(str(tmp_path)) == {
        "ptxas": str(tmp_path / "cuda/bin/ptxas"),
        "libdevice.10.bc": str(tmp_path / "cuda/nvvm/libdevice/libdevice.10.bc"),
    }


def test_gpus_that_nvidia_smi_names(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    executable(tmp_path / "nvidia-smi", "echo 580.1, NVIDIA A, 9 MiB; echo 580.1, NVIDIA B, 8 MiB")
    assert hardware.find_nvidia(tmp_path) == ("580.1", ["NVIDIA A, 9 MiB", "NVIDIA B, 8 MiB"])
    executable(tmp_path / "nvidia-smi", "echo NVIDIA-SMI has failed, no driver; exit 9")
    assert hardware.find_nvidia(tmp_path) == (None, [])


def test_gpus_without_nvidia_smi(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    for device, vendor, kind in (
        ("0000:00:01.0", "0x10de", "0x030200"),
        ("0000:00:02.0", "0x10de", "0x040300"),  # its sound
        ("0000:00:03.0", "0x8086", "0x030000"),
    ):
        folder = tmp_path / "sys/bus/pci/devices" / device
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")
    assert hardware.find_nvidia(tmp_path) == (None, ["the PCI device 0000:00:01.0"])
    driver = tmp_path / "proc/driver/nvidia"
    (driver / "gpus/0000:00:01.0").mkdir(parents=True)
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    (driver / "version").write_text(version)
    (driver / "gpus/0000:00:01.0/information").write_text("Model: \t\t NVIDIA H100\nIRQ: 1\n")
    assert hardware.find_nvidia(tmp_path) == ("580.95.05", ["NVIDIA H100"])


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
    monkeypatch.setattr(
        hardware, "read_text", lambda _: f"model name\t: {name}\nflags\t\t: {flags}\n"
    )
    assert hardware.multiplies_bfloat16_faster.__wrapped__() == faster
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "avx512_core_amx")
    assert hardware.multiplies_bfloat16_faster.__wrapped__() == faster
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert not hardware.multiplies_bfloat16_faster.__wrapped__()
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    monkeypatch.setattr(hardware, "read_text", lambda _: "")
    assert not hardware.multiplies_bfloat16_faster.__wrapped__()


@pytest.mark.parametrize(
    ("nvidia", "processor", "expected"),
    [
        ((None, []), False, "float32"),
        ((None, []), True, "bfloat16"),
        (("570.1", ["H200"]), False, "bfloat16"),
        (("570.1", []), False, "float32"),
        ((None, ["the PCI device 0"]), False, "float32"),  # without its driver
    ],
)
def test_the_type_in_which_a_machine_multiplies_faster(monkeypatch, nvidia, processor, expected):
    monkeypatch.setattr(hardware, "find_nvidia", lambda: nvidia)
    monkeypatch.setattr(hardware, "multiplies_bfloat16_faster", lambda: processor)
    assert hardware.faster_type.__wrapped__() == expected


def test_the_processor_in_words():
    cpuinfo = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f avx512_bf16\n"
    text = hardware.processor_in_words(cpuinfo)
    has, lacks = "AVX2, AVX-512, AVX-512's bfloat16 products", "AMX's bfloat16 products"
    assert text.endswith(f" cores of AMD EPYC, with {has}; without {lacks}")
    text = hardware.processor_in_words(f"flags\t\t: {' '.join(hardware.INSTRUCTIONS)}\n")
    assert text.endswith(f", with {', '.join(hardware.INSTRUCTIONS.values())}")
    assert hardware.processor_in_words("").endswith(", whose instructions are not known")
