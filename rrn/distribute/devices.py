"""Names of the towers' devices from a flag; the CPU's memory."""

import ctypes
import os
import platform
import re

import tensorflow as tf
from absl import logging

CPU = "/device:CPU:0"

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # glibc's malloc.h


def keep_freed_memory() -> None:
    """Lets this process keep the memory of freed tensors for the next ones.

    glibc's malloc gives large blocks back to the system, so that most tensors of megabytes begin
    with thousands of page faults. Must be called before TensorFlow's first operation. Does nothing
    where the C library is another one.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, 1)  # arenas of other threads give memory back in any case
        libc.mallopt(M_TRIM_THRESHOLD, -1)  # never
        libc.mallopt(M_MMAP_THRESHOLD, 2**25)  # the most it takes


def cpu_beside(device: str) -> str:
    """Names the first CPU of the process that has a device.

    Args:
      device: the device's name.

    Returns:
      The CPU's name.
    """
    spec = tf.DeviceSpec.from_string(device)
    if spec.job in (None, "localhost"):
        return CPU
    return f"/job:{spec.job}/replica:0/task:{spec.task}{CPU}"


def _logical_cpus(count):
    """`count` logical devices on the one CPU; must come before TensorFlow's first operation.

    They share its cores: an operation of one takes no more threads than its share, for small
    operations of several towers side by side are faster than one after the other on all cores.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    configuration = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
    try:
        tf.config.set_logical_device_configuration(cpu, configuration)
        if count > 1:
            threads = max(1, (os.cpu_count() or 1) // count)
            tf.config.threading.set_intra_op_parallelism_threads(threads)
    except RuntimeError as error:
        if len(tf.config.list_logical_devices("CPU")) < count:
            raise ValueError(
                f"{count} logical CPU devices must be asked for before TensorFlow's first operation"
            ) from error
    return [f"/device:CPU:{i}" for i in range(count)]


def parse_devices(flag: str) -> list[str]:
    """Reads the flag --devices: one device name for each tower.

    Must be called before TensorFlow's first operation if it is to make logical CPU devices, or if
    the memory of GPUs is to be taken as it is needed.

    Args:
      flag: "auto" for all GPUs, or one CPU tower where there is none; "cpu"; "cpu:N" for N logical
        CPU devices; or numbers of GPUs, as "0,1,2,3". Where there is no GPU, numbers of GPUs mean
        as many logical CPU devices.

    Returns:
      Names such as "/device:GPU:0".

    Raises:
      ValueError: the flag is none of these, names a device twice or a GPU that is not there. The
        message lists the devices that are there.
    """
    physical = tf.config.list_physical_devices("GPU")
    for gpu in physical:
        _let_memory_grow(gpu)
    gpus = [gpu.name.replace("physical_device:", "device:") for gpu in physical]
    there = f"there: {', '.join(gpus) or 'no GPU'}, and the CPU"
    if flag == "auto":
        return gpus or _logical_cpus(1)
    if match := re.fullmatch(r"cpu(?::([1-9]\d*))?", flag):
        return _logical_cpus(int(match[1] or 1))
    if not re.fullmatch(r"\d+(,\d+)*", flag):
        raise ValueError(
            f"--devices={flag}: expected auto, cpu, cpu:N or GPU numbers such as 0,1 ({there})"
        )
    numbers = [int(number) for number in flag.split(",")]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"--devices={flag}: a device is named twice ({there})")
    if not gpus:
        logging.warning(
            "No GPU is visible: --devices=%s means %d logical CPU devices.", flag, len(numbers)
        )
        return _logical_cpus(len(numbers))
    if missing := [number for number in numbers if number >= len(gpus)]:
        raise ValueError(f"--devices={flag}: no GPU {missing[0]} ({there})")
    return [f"/device:GPU:{number}" for number in numbers]


def _let_memory_grow(gpu: tf.config.PhysicalDevice) -> None:
    """Has TensorFlow take a GPU's memory as it is needed, not all of it at the start."""
    try:
        tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:  # TensorFlow has started
        logging.warning(
            "TensorFlow takes all memory of %s: call parse_devices before its first operation.",
            gpu.name,
        )
