"""From the --devices flag to towers' devices; the tests' process has four logical CPUs."""

import platform
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import tensorflow as tf
from absl import logging

from rrn.distribute import devices
from rrn.distribute.devices import format_memory, parse_devices, peak_memory

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


class StandInGpus:
    """Does with logical devices of GPUs what TensorFlow does; `started` after its first operation.

    Attributes:
      limits: GPU's name -> its logical devices' memory limits, in MiB.
      visible: the names of the GPUs that are visible, once they are chosen.
    """

    def __init__(self, monkeypatch):
        self.started, self.limits, self.visible = False, {}, None
        for name in (
            "set_logical_device_configuration",
            "get_logical_device_configuration",
            "set_visible_devices",
        ):
            monkeypatch.setattr(tf.config, name, getattr(self, name))
        monkeypatch.setattr(tf.config.experimental, "set_memory_growth", self.set_memory_growth)
        monkeypatch.setattr(devices, "_first_gpus_memory", lambda: 1000)

    def set_logical_device_configuration(self, gpu, configuration):
        limits = [logical.memory_limit for logical in configuration]
        if self.limits.get(gpu.name) != limits:
            self._change()
            self.limits[gpu.name] = limits

    def get_logical_device_configuration(self, gpu):
        return self.limits.get(gpu.name)

    def set_visible_devices(self, gpu, device_type):
        if self.visible != [gpu.name]:
            self._change()
            self.visible = [gpu.name]

    def set_memory_growth(self, gpu, grow):
        if gpu.name in self.limits:
            raise ValueError("Cannot set memory growth on device when virtual devices configured")

    def _change(self):
        if self.started:
            raise RuntimeError("Virtual devices cannot be modified after being initialized")


@pytest.fixture
def stand_in(two_gpus, monkeypatch):
    return StandInGpus(monkeypatch)


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
    monkeypatch.setattr(devices, "count_cores", lambda: 8)
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
    assert tf.__version__ in warning and "pip install 'rrn[gpu]'" in warning


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


@pytest.mark.parametrize("flag", ["gpu", "gpu:1"])
def test_the_first_gpu_is_not_split(stand_in, flag):
    assert parse_devices(flag) == ["/device:GPU:0"]
    assert (stand_in.limits, stand_in.visible) == ({}, None)


def test_logical_gpus_share_nine_tenths_of_the_first_gpus_memory(stand_in):
    assert parse_devices("gpu:4") == [f"/device:GPU:{i}" for i in range(4)]
    assert stand_in.limits == {"/physical_device:GPU:0": [225] * 4}
    assert stand_in.visible == ["/physical_device:GPU:0"]


def test_logical_gpus_may_be_asked_for_again(stand_in, caplog):
    four = parse_devices("gpu:4")
    stand_in.started = True
    assert parse_devices("gpu:4") == four
    assert parse_devices("gpu:3") == four[:3]
    assert parse_devices("0") == four[:1]  # lets no memory grow, and does not fail at it
    assert not caplog.text
    with pytest.raises(ValueError, match="5 logical GPU devices must be asked for before"):
        parse_devices("gpu:5")


def test_logical_gpus_after_tensorflow_has_started_are_an_error(stand_in):
    stand_in.started = True
    with pytest.raises(ValueError, match="2 logical GPU devices must be asked for before"):
        parse_devices("gpu:2")


@pytest.mark.parametrize(
    ("flag", "hint"),
    [("gpu", "cpu is the CPU"), ("gpu:4", "cpu:4 gives 4 logical CPU devices")],
)
def test_the_first_gpu_where_there_is_none_is_an_error(no_gpus, flag, hint):
    with pytest.raises(ValueError, match=f"^--devices={flag}: there is no GPU; {hint}$"):
        parse_devices(flag)


class Driver:
    """CUDA's driver with one GPU; `status` is what its functions return."""

    def __init__(self, status=0):
        self.cuInit = self.cuDeviceGet = lambda *arguments: status

    @staticmethod
    def cuDeviceTotalMem_v2(size, number):
        size._obj.value = 80 * 2**30
        return 0


@pytest.mark.parametrize(
    ("driver", "mib"), [(Driver(), 80 * 1024), (Driver(100), devices.UNKNOWN_GPU_MIB)]
)
def test_the_memory_of_the_first_gpu_is_what_cudas_driver_says(monkeypatch, driver, mib):
    opened = []
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: opened.append(name) or driver)
    assert devices._first_gpus_memory() == mib
    assert opened == ["libcuda.so.1"]


def test_without_cudas_driver_a_gpus_memory_is_a_guess(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(devices.ctypes, "CDLL", missing)
    assert devices._first_gpus_memory() == devices.UNKNOWN_GPU_MIB


@pytest.mark.parametrize("flag", ["0,1", "auto", "gpu"])
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
    [
        *("0,,1", "-1", "cpu:0", "", "cpu:", "cpu:x", ",", "0,", "0 1", "AUTO", "cpu:4\n", "1.5"),
        *("tpu", "gpu:0", "gpu:", "gpu:x", "gpu,gpu", "GPU", "gpu:2\n"),
    ],
)
def test_nonsense_is_an_error_that_lists_what_is_there(no_gpus, flag):
    with pytest.raises(ValueError, match="cpu:N, gpu, gpu:N or GPU numbers") as error:
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
from rrn.distribute.devices import tune_cpu
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        blocks = [bytearray(2**24) for _ in range(4)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
without = faults(4)
tune_cpu()
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


def test_the_peak_of_memory_is_each_gpus_or_the_process(monkeypatch):
    said = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak_memory(CPUS[:1]) == {"process": pytest.approx(1024 * int(said[1]), rel=0.05)}
    info = {"GPU:0": {"peak": 2**31, "current": 1}, "GPU:1": {"peak": 2**29, "current": 2}}
    monkeypatch.setattr(devices.tf.config.experimental, "get_memory_info", info.get)
    peaks = peak_memory(["/device:GPU:0", "/device:GPU:1"])
    assert peaks == {"GPU:0": 2**31, "GPU:1": 2**29}
    assert format_memory(peaks) == "GPU:0 2.00 GiB, GPU:1 0.50 GiB"
    assert format_memory({"process": 2**30}) == "1.00 GiB"
