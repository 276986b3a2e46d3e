"""From the --devices flag to towers' devices; the tests' process has four logical CPUs."""

import re
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


def show(monkeypatch, num_gpus):
    present = {
        "CPU": tf.config.list_physical_devices("CPU"),
        "GPU": [
            types.SimpleNamespace(name=f"/physical_device:GPU:{i}", device_type="GPU")
            for i in range(num_gpus)
        ],
    }
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: present[kind])
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, grow: None)


@pytest.fixture
def no_gpus(monkeypatch):
    show(monkeypatch, 0)


@pytest.fixture
def two_gpus(monkeypatch):
    show(monkeypatch, 2)


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

    def _change(self):
        if self.started:
            raise RuntimeError("Virtual devices cannot be modified after being initialized")


@pytest.fixture
def stand_in(two_gpus, monkeypatch):
    return StandInGpus(monkeypatch)


@pytest.mark.parametrize(
    ("num_gpus", "flag", "expected"),
    [
        *((0, flag, CPUS[:1]) for flag in ("auto", "cpu", "cpu:1")),
        *((0, f"cpu:{count}", CPUS[:count]) for count in (3, 4)),
        (2, "cpu:2", CPUS[:2]),
        (2, "1,0", ["/device:GPU:1", "/device:GPU:0"]),
        (2, "1", ["/device:GPU:1"]),
        (2, "auto", ["/device:GPU:0", "/device:GPU:1"]),
        (2, "gpu", ["/device:GPU:0"]),
        (2, "gpu:1", ["/device:GPU:0"]),
    ],
)
def test_towers(monkeypatch, num_gpus, flag, expected):
    show(monkeypatch, num_gpus)
    assert parse_devices(flag) == expected


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


def test_logical_gpus_share_nine_tenths_of_the_first_gpus_memory(stand_in):
    assert parse_devices("gpu:1") == ["/device:GPU:0"]
    assert (stand_in.limits, stand_in.visible) == ({}, None)  # it is not split
    four = parse_devices("gpu:4")
    assert four == [f"/device:GPU:{i}" for i in range(4)]
    assert stand_in.limits == {"/physical_device:GPU:0": [225] * 4}
    assert stand_in.visible == ["/physical_device:GPU:0"]
    stand_in.started = True  # they may be asked for again
    assert parse_devices("gpu:4") == four
    assert parse_devices("gpu:3") == four[:3]
    with pytest.raises(ValueError, match="5 logical GPU devices must be asked for before"):
        parse_devices("gpu:5")


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
    assert "all memory of /physical_device:GPU:1: Physical devices cannot" in caplog.text


@pytest.mark.parametrize(
    ("num_gpus", "flag", "message"),
    [
        (2, "0,2", r"no GPU 2 \(there: /device:GPU:0, /device:GPU:1, and the CPU"),
        (2, "0,1,2,1", "a device is named twice"),
        *((2, flag, "cpu:N, gpu, gpu:N or GPU") for flag in ("0,,1", "-1", "cpu:0", "", "gpu:x")),
        (2, "cpu:5", "5 logical CPU devices must be asked for before"),
        (0, "gpu", "^--devices=gpu: there is no GPU; cpu is the CPU$"),
        (0, "gpu:4", "^--devices=gpu:4: there is no GPU; cpu:4 gives 4 logical CPU devices$"),
    ],
)
def test_a_flag_that_does_not_fit_is_an_error(monkeypatch, num_gpus, flag, message):
    show(monkeypatch, num_gpus)
    with pytest.raises(ValueError, match=message):
        parse_devices(flag)


def test_the_peak_of_memory_is_each_gpus_or_the_process(monkeypatch):
    said = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak_memory(CPUS[:1]) == {"process": pytest.approx(1024 * int(said[1]), rel=0.05)}
    info = {"GPU:0": {"peak": 2**31, "current": 1}, "GPU:1": {"peak": 2**29, "current": 2}}
    monkeypatch.setattr(devices.tf.config.experimental, "get_memory_info", info.get)
    peaks = peak_memory(["/device:GPU:0", "/device:GPU:1"])
    assert peaks == {"GPU:0": 2**31, "GPU:1": 2**29}
    assert format_memory(peaks) == "GPU:0 2.00 GiB, GPU:1 0.50 GiB"
    assert format_memory({"process": 2**30}) == "1.00 GiB"
