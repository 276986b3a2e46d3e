"""Names of the towers' devices from a flag; their memory."""

import ctypes
import gc
import os
import platform
import re
import resource
from collections.abc import Mapping, Sequence

import tensorflow as tf
from absl import logging

from rrn.hardware import count_cores

CPU = "/device:CPU:0"
GPU_SHARE = 0.9  # of a split GPU's memory; CUDA itself and the kernels take the rest
UNKNOWN_GPU_MIB = 4096  # a GPU's memory where CUDA's driver does not say: few have less

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # glibc's malloc.h


def tune_cpu() -> None:
    """Makes TensorFlow faster on CPUs; must be called before its first operation.

    Python's garbage collector goes over graphs less often while they are traced.
    glibc's malloc gives large blocks back to the system, so that most tensors of megabytes begin
    with thousands of page faults; it now keeps them. oneDNN compiles code for every shape that it
    multiplies; it now caches 16,384 shapes, not 1,024.
    """
    gc.set_threshold(100_000)
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16384")
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, 1)  # arenas of other threads give memory back in any case
        libc.mallopt(M_TRIM_THRESHOLD, -1)  # never
        libc.mallopt(M_MMAP_THRESHOLD, 2**25)  # the most it takes


def peak_memory(devices: Sequence[str]) -> dict[str, int]:
    """Finds the most memory that was in use at a time, in bytes.

    The keys are the GPUs among the devices, as "GPU:0", or "process" where there is none.
    """
    if gpus := [device.removeprefix("/device:") for device in devices if "GPU" in device]:
        return {gpu: tf.config.experimental.get_memory_info(gpu)["peak"] for gpu in gpus}
    return {"process": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}  # as Linux counts


def format_memory(peaks: Mapping[str, int]) -> str:
    """Writes what `peak_memory` found, as 1.25 GiB, or each GPU's where there are several."""
    sizes = {name: f"{size / 2**30:.2f} GiB" for name, size in peaks.items()}
    if len(sizes) == 1:
        return "".join(sizes.values())
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


def cpu_beside(device: str) -> str:
    """Names the first CPU of the process that has a device."""
    spec = tf.DeviceSpec.from_string(device)
    if spec.job in (None, "localhost"):
        return CPU
    return f"/job:{spec.job}/replica:0/task:{spec.task}{CPU}"


def _logical(physical, count, **limits):
    kind = physical.device_type
    configuration = [tf.config.LogicalDeviceConfiguration(**limits) for _ in range(count)]
    try:
        tf.config.set_logical_device_configuration(physical, configuration)
        if kind == "GPU":  # TensorFlow would take all memory of the others
            tf.config.set_visible_devices(physical, "GPU")
        elif count > 1:  # small operations of several towers are faster side by side
            threads = max(1, count_cores() // count)
            tf.config.threading.set_intra_op_parallelism_threads(threads)
    except RuntimeError as error:
        if len(tf.config.get_logical_device_configuration(physical) or [None]) < count:
            raise ValueError(
                f"{count} logical {kind} devices must be asked for before TensorFlow's first "
                "operation"
            ) from error
    return [f"/device:{kind}:{i}" for i in range(count)]


def _first_gpus_memory():
    """The first GPU's memory in MiB, from CUDA's driver: TensorFlow must not start yet."""
    number, size = ctypes.c_int(), ctypes.c_size_t()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return UNKNOWN_GPU_MIB
    failed = (
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(number), 0)
        or cuda.cuDeviceTotalMem_v2(ctypes.byref(size), number)
    )
    return UNKNOWN_GPU_MIB if failed else size.value // 2**20


def parse_devices(flag: str) -> list[str]:
    """Reads the flag --devices: one device name, such as "/device:GPU:0", for each tower.

    Must be called before TensorFlow's first operation to make logical devices, and to let
    TensorFlow take the GPUs' memory as it needs it.

    Args:
      flag: "auto" for all GPUs, or one CPU tower where there is none; "cpu"; "cpu:N" for N logical
        CPU devices; "gpu" for the first GPU; "gpu:N" for N logical devices on it, each with an
        equal share of its memory; or numbers of GPUs, as "0,1,2,3". Where there is no GPU, numbers
        of GPUs mean as many logical CPU devices.

    Raises:
      ValueError: the flag is none of these, names a device twice or an absent GPU, or asks for
        logical devices too late.
    """
    (cpu, *_), physical = map(tf.config.list_physical_devices, ("CPU", "GPU"))
    gpus = [gpu.name.replace("physical_device:", "device:") for gpu in physical]
    there = f"there: {', '.join(gpus) or 'no GPU'}, and the CPU"
    match = re.fullmatch(r"(cpu|gpu)(?::([1-9]\d?))?", flag)
    kind, count = (match[1], int(match[2] or 1)) if match else ("", 0)
    if kind == "gpu" and not gpus:
        hint = f"cpu:{count} gives {count} logical CPU devices" if count > 1 else "cpu is the CPU"
        raise ValueError(f"--devices={flag}: there is no GPU; {hint}")
    if kind == "gpu" and count > 1:  # each takes its share now: memory cannot grow on a split GPU
        limit = int(GPU_SHARE * _first_gpus_memory()) // count
        return _logical(physical[0], count, memory_limit=limit)
    for gpu in physical:  # TensorFlow wants the same for all
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except (RuntimeError, ValueError) as error:  # TensorFlow has started, or the GPU is split
            logging.warning("TensorFlow takes all memory of %s: %s", gpu.name, error)
    if kind == "gpu":
        return gpus[:1]
    if kind == "cpu" or (flag == "auto" and not gpus):
        return _logical(cpu, count or 1)
    if flag == "auto":
        return gpus
    if not re.fullmatch(r"\d+(,\d+)*", flag):
        raise ValueError(
            f"--devices={flag}: expected auto, cpu, cpu:N, gpu, gpu:N or GPU numbers such as 0,1 "
            f"(N: 1 to 99; {there})"
        )
    numbers = [int(number) for number in flag.split(",")]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"--devices={flag}: a device is named twice ({there})")
    if not gpus:
        cuda = "with" if tf.test.is_built_with_cuda() else "without"
        logging.warning(
            "--devices=%s: no GPU, so that %d logical CPU devices stand in. This is TensorFlow %s, "
            "built %s CUDA; pip install 'rrn[gpu]' installs CUDA's libraries.",
            *(flag, len(numbers), tf.__version__, cuda),
        )
        return _logical(cpu, len(numbers))
    if missing := [number for number in numbers if number >= len(gpus)]:
        raise ValueError(f"--devices={flag}: no GPU {missing[0]} ({there})")
    return [f"/device:GPU:{number}" for number in numbers]
