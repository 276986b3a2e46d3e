"""From the --devices flag to towers' devices; the tests' process has four logical CPUs."""

import platform
import subprocess
import sys
import types

import pytest
import tensorflow as tf
from absl import logging

from rrn.distribute import devices
from rrn.distribute.devices import parse_devices

CPUS = [f"/device:CPU:{i}" for i in range(4)]


@pytest.fixture(autouse=True)
def running_tensorflow():
    """Logical devices are fixed once they have been listed."""
    assert len(tf.config.list_logical_devices("CPU")) == 4


@pytest.fixture
def no_gpus(monkeypatch):
    _show(monkeypatch, 0)


@pytest.fixture
def two_gpus(monkeypatch):
    _show(monkeypatch, 2)


def _show(monkeypatch, num_gpus):
    there = {
        "CPU": tf.config.list_physical_devices("CPU"),
        "GPU": [
            types.SimpleNamespace(name=f"/physical_device:GPU:{i}", device_type="GPU")
            for i in range(num_gpus)
        ],
    }
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: there[kind])
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, grow: None)


@pytest.mark.parametrize(
    ("flag", "count"), [("auto", 1), ("cpu", 1), ("cpu:1", 1), ("cpu:4", 4), ("cpu:3", 3)]
)
def test_cpu_towers(no_gpus, flag, count):
    assert parse_devices(flag) == CPUS[:count]


@pytest.mark.parametrize(
    ("flag", "threads"), [("cpu", []), ("cpu:2", [4]), ("cpu:3", [2]), ("cpu:9", [1])]
)
def test_cpu_towers_share_the_cores(no_gpus, monkeypatch, flag, threads):
    found = []
    monkeypatch.setattr(devices.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(tf.config, "set_logical_device_configuration", lambda cpu, devices: None)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", found.append)
    parse_devices(flag)
    assert found == threads


def test_gpu_numbers_without_a_gpu_mean_logical_cpus_and_a_warning(no_gpus, monkeypatch):
    warnings = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: warnings.append(text % values))
    assert parse_devices("0,1,2,3") == CPUS
    (warning,) = warnings
    assert "0,1,2,3" in warning and "4 logical CPU" in warning


def test_cpu_towers_beyond_the_logical_devices_are_an_error(no_gpus):
    with pytest.raises(ValueError, match="5 logical CPU devices must be asked for before"):
        parse_devices("cpu:5")


def test_gpus_by_number_in_the_given_order(two_gpus):
    assert parse_devices("1,0") == ["/device:GPU:1", "/device:GPU:0"]
    assert parse_devices("1") == ["/device:GPU:1"]


def test_auto_takes_all_gpus(two_gpus):
    assert parse_devices("auto") == ["/device:GPU:0", "/device:GPU:1"]


def test_cpu_towers_beside_gpus(two_gpus):
    assert parse_devices("cpu:2") == CPUS[:2]


@pytest.mark.parametrize("flag", ["0,1", "auto"])
def test_gpu_memory_grows_as_needed(two_gpus, monkeypatch, flag):
    grown = []
    monkeypatch.setattr(
        tf.config.experimental, "set_memory_growth", lambda gpu, grow: grown.append(gpu.name)
    )
    parse_devices(flag)
    assert grown == ["/physical_device:GPU:0", "/physical_device:GPU:1"]


def test_gpus_of_a_program_that_has_started_are_taken_with_a_warning(two_gpus, monkeypatch, caplog):
    def started(gpu, grow):
        raise RuntimeError("Physical devices cannot be modified after being initialized")

    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", started)
    with caplog.at_level("WARNING"):
        assert parse_devices("1") == ["/device:GPU:1"]
    assert "all memory of /physical_device:GPU:1" in caplog.text


def test_a_gpu_that_is_not_there_is_an_error_that_lists_those_that_are(two_gpus):
    with pytest.raises(ValueError, match="no GPU 2") as error:
        parse_devices("0,2")
    assert "there: /device:GPU:0, /device:GPU:1, and the CPU" in str(error.value)


@pytest.mark.parametrize(
    "flag",
    ["gpu", "0,,1", "-1", "cpu:0", "", "cpu:", "cpu:x", ",", "0,", "0 1", "AUTO", "cpu:4\n", "1.5"],
)
def test_nonsense_is_an_error_that_lists_what_is_there(no_gpus, flag):
    with pytest.raises(ValueError, match="expected auto, cpu, cpu:N or GPU numbers") as error:
        parse_devices(flag)
    assert f"--devices={flag}" in str(error.value)
    assert "there: no GPU, and the CPU" in str(error.value)


@pytest.mark.parametrize("flag", ["0,0", "0,1,2,1"])
def test_a_device_named_twice_is_an_error(two_gpus, flag):
    with pytest.raises(ValueError, match="a device is named twice"):
        parse_devices(flag)


def test_the_encoders_device_is_the_first_cpu():
    assert CPUS[0] == devices.CPU


ALLOCATE = """
import resource
from rrn.distribute.devices import keep_freed_memory
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        blocks = [bytearray(2**24) for _ in range(4)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
without = faults(4)
keep_freed_memory()
faults(2)
print(without, faults(4))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this is about glibc's malloc")
def test_freed_memory_is_kept_without_page_faults():
    command = [sys.executable, "-c", ALLOCATE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    without, kept = map(int, done.stdout.split())
    assert without > 10_000  # of 65,536 pages written to
    assert kept < 100
