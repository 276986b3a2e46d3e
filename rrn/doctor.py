"""Tells which devices TensorFlow can use here, and what is missing: `python -m rrn.doctor`.

What it prints is what a bug report needs of a machine.

The exit status is 1 where a GPU is there that TensorFlow cannot use, or where a product is wrong.
TensorFlow runs in processes of its own, so that even its crash is an answer.
"""

from rrn.data_prep.interruption import interruption

if __name__ == "__main__":  # before the imports that take a second
    interruption.expect()
import ctypes
import dataclasses
import functools
import importlib.metadata
import importlib.util
import itertools
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rrn.data_prep.failures import error_line

SECONDS = 300  # in which a process must have answered
INSTALL = "pip install 'rrn[gpu]', or in a checkout pip install -e '.[gpu]'"
DRIVER = "libcuda.so.1"
OPTIONAL = "libnccl", "libcupti"  # sums over several GPUs, and profiles
FIRST_DRIVERS = {12: 525, 13: 580}  # CUDA's major version -> the first driver for it
TYPES = {"float32": 2e-3, "bfloat16": 2e-2}  # -> relative error that is right, also with TF32
INSTRUCTIONS = {  # in /proc/cpuinfo -> in words
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_bf16": "AVX-512's bfloat16 products",
    "amx_bf16": "AMX's bfloat16 products",
}


@dataclasses.dataclass
class Facts:
    """What was found.

    Attributes:
      tensorflow: "version", "folder", for which "cuda" and "cudnn" it is built (None for none),
        "gpus" that it sees (a text for each), and what it "said"; or an "error".
      system: what it is, and its memory, disk and limits, in lines.
      driver: the version of NVIDIA's driver, None if there is none.
      gpus: a text for each of NVIDIA's GPUs that the machine has.
      libraries: name -> (where it was opened, or "" and why it was not).
      tools: name -> path, "" if it was not found.
      products: device -> type -> "seconds" to compile, relative "error", and of a larger product
        "size" and "rate" in TFLOP/s, or why it "failed"; or device -> an "error".
      visible: the environment's CUDA_VISIBLE_DEVICES, if it is set.
    """

    tensorflow: dict[str, Any]
    processor: str = ""
    system: list[str] = dataclasses.field(default_factory=list)
    driver: str | None = None
    gpus: list[str] = dataclasses.field(default_factory=list)
    libraries: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    tools: dict[str, str] = dataclasses.field(default_factory=dict)
    products: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    visible: str | None = None

    @property
    def unseen(self) -> int:
        """How many GPUs TensorFlow should see and does not."""
        shown = len(self.gpus)
        if self.visible is not None:
            names, hidden = self.visible.split(","), ("", "-1", "NoDevFiles")
            shown = min(shown, len([*itertools.takewhile(lambda n: n not in hidden, names)]))
        return max(0, shown - len(self.tensorflow.get("gpus", ())))


# TensorFlow, in processes of its own


def _apart(function, *arguments):
    """What a function of this module returns in a process of its own, or {"error": the reason}.

    What TensorFlow "said" at the level of warnings and errors is added.
    """
    call = "print(json.dumps(getattr(rrn.doctor, sys.argv[1])(*sys.argv[2:])))"
    command = [sys.executable, "-c", f"import json, sys, rrn.doctor; {call}", function, *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
    options = {"capture_output": True, "text": True, "errors": "replace", "timeout": SECONDS}
    try:
        done = subprocess.run(command, env=environment, **options)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {SECONDS} seconds"}
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if done.returncode == 0:
        said = [line for line in lines if re.match(r"[EW]\d{4} |\d{4}-.*: [EW] ", line)]
        return {**json.loads(done.stdout.splitlines()[-1]), "said": said}
    fatal = [line for line in lines if re.match(r"F\d{4} |\d{4}-.*: F ", line)]
    crashed = f"crashed with signal {-done.returncode}: " if done.returncode < 0 else ""
    return {"error": crashed + (fatal or lines or ["no message"])[-1]}


def _tensorflow():
    """TensorFlow, which takes no more of a GPU's memory than it needs."""
    importlib.import_module("rrn.fast_start")
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    return tf


def _describe_tensorflow():
    tf, gpus = _tensorflow(), []
    for gpu in tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(gpu)
        capability = ".".join(map(str, details.get("compute_capability", ["unknown"])))
        gpus.append(f"{details.get('device_name', gpu.name)}, compute capability {capability}")
    build = tf.sysconfig.get_build_info()
    versions = {name: build.get(f"{name}_version") or None for name in ("cuda", "cudnn")}
    folder = str(Path(tf.__file__ or "").parent)
    return {"version": tf.__version__, "folder": folder, "gpus": gpus, **versions}


def _multiply(device):
    """Products on a device, for each type."""
    tf, results = _tensorflow(), {}
    for dtype in TYPES:
        try:
            with tf.device(device):
                results[dtype] = _product(tf, dtype, 8192 if "GPU" in device else 1024)
        except tf.errors.OpError as error:
            results[dtype] = {"failed": (error_line(error) or str(error)).removeprefix("error: ")}
    return results


def _product(tf, dtype, size):
    """A product of two small matrices, compared with NumPy's, and the rate of large ones."""
    import numpy as np

    multiply = tf.function(lambda a, b: tf.matmul(a, b), jit_compile=True)

    def matrices(size):
        normal = (tf.random.stateless_normal([size, size], [0, seed]) for seed in (1, 2))
        return [tf.cast(matrix, dtype) for matrix in normal]

    def seconds(times, a, b):
        start = time.perf_counter()
        product = multiply(a, b)
        for _ in range(times - 1):
            product = multiply(a, b)
        _ = product[0, 0].numpy()  # waits for the device
        return time.perf_counter() - start

    a, b = matrices(256)
    compiling = seconds(1, a, b)
    x, y, found = (tf.cast(t, tf.float64).numpy() for t in (a, b, multiply(a, b)))
    error = float(np.linalg.norm(found - x @ y) / np.linalg.norm(x @ y))
    large = matrices(size)
    seconds(1, *large)  # compiles
    times = max(1, min(100, int(0.5 / seconds(1, *large))))
    rate = 2 * size**3 * times / seconds(times, *large) / 1e12
    return {"seconds": compiling, "error": error, "size": size, "rate": rate}


# The machine, without TensorFlow


def _text(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _fields(cpuinfo):
    """The "model name" and the "flags" in the text of /proc/cpuinfo, as far as it has them."""
    return dict(re.findall(r"^(model name|flags)\s*: (.*)$", cpuinfo, re.MULTILINE))


def _processor(cpuinfo):
    """What the processor is and can do, from the text of /proc/cpuinfo."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    found = _fields(cpuinfo)
    flags = found.get("flags", "").split()
    has = [words for flag, words in INSTRUCTIONS.items() if flag in flags]
    lacks = [words for flag, words in INSTRUCTIONS.items() if flag not in flags]
    groups = {"with": has, "without": lacks}
    can = "; ".join(f"{word} {', '.join(names)}" for word, names in groups.items() if names)
    can = can if flags else "whose instructions are not known"
    return f"{cores} cores of {found.get('model name', platform.machine())}, {can}"


def _system(folder, root=Path("/")):
    """Lines about the system, the memory, and a folder in which runs may be."""
    installed = [*importlib.metadata.distributions(name="rrn")]
    version = installed[0].version if installed else "that is not installed,"
    yield f"rrn {version} in {Path(__file__).parent}; {platform.platform()}"
    known = dict(re.findall(r"^(\w+): +(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE))
    if "MemAvailable" in known:
        total, free = (_gib(1024 * int(known[n])) for n in ("MemTotal", "MemAvailable"))
        limit = _text(root / "sys/fs/cgroup/memory.max").strip()  # of a container
        limit = f"; this container may have {_gib(int(limit))}" if limit.isdecimal() else ""
        yield f"memory: {free} of {total} are free{limit}"
    disk = shutil.disk_usage(folder)
    yield f"{folder}: {_gib(disk.free)} of {_gib(disk.total)} are free; {_locks(folder)}"
    if importlib.util.find_spec("resource"):
        import resource  # which Windows lacks

        limits = {"open files": resource.RLIMIT_NOFILE, "processes": resource.RLIMIT_NPROC}
        soft = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
        most = [f"{n:,} {name}" for name, n in soft.items() if n != resource.RLIM_INFINITY]
        yield f"limits: {', '.join(most) or 'none of open files and processes'}"


def _gib(size):
    return f"{size / 2**30:,.1f} GiB"


def _locks(folder):
    """Whether a run can lock its folder there."""
    try:
        import fcntl  # which Windows lacks

        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError) as error:
        return f"a run cannot lock its folder there: {error}"
    return "files there can be locked"


def _nvidia(root=Path("/")):
    """NVIDIA's driver and GPUs: by nvidia-smi, by the driver's files, or on the PCI bus."""
    query = ["nvidia-smi", "--query-gpu=driver_version,name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
        if rows := [line.split(", ", 1) for line in done.stdout.splitlines() if ", " in line]:
            return rows[0][0], [gpu for _, gpu in rows]
    except (OSError, subprocess.SubprocessError):
        pass
    version = _text(root / "proc/driver/nvidia/version")
    if driver := re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", version):
        texts = map(_text, sorted(root.glob("proc/driver/nvidia/gpus/*/information")))
        models = [re.search(r"Model:\s*(.*)", text) for text in texts]
        return driver[1], [(model and model[1]) or "a GPU" for model in models]
    displays = [path.parent for path in sorted(root.glob("sys/bus/pci/devices/*/class"))]
    displays = [path for path in displays if _text(path / "class").startswith("0x03")]
    nvidias = [path for path in displays if _text(path / "vendor").strip() == "0x10de"]
    return None, [f"the PCI device {path.name}" for path in nvidias]


def _library_names(cuda, cudnn):
    """What TensorFlow opens on a GPU if it is built for these versions, as "12.5.1" and "9"."""
    major = int(cuda.split(".")[0])
    same = "cudart", "cublas", "cublasLt", "nvJitLink", "nvrtc"
    return [
        DRIVER,
        *(f"lib{name}.so.{major}" for name in same),
        *(f"lib{name}.so.{major - 1}" for name in ("cufft", "cusolver")),
        *("libcurand.so.10", "libcusparse.so.12"),
        f"libcudnn.so.{(cudnn or '9').split('.')[0]}",
        *("libnccl.so.2", f"libcupti.so.{major}"),
    ]


def _open_library(name, folder):
    """Opens a library where TensorFlow looks; returns (where, "") or ("", why it could not).

    The places are LD_LIBRARY_PATH, pip's packages beside TensorFlow's folder, and the system's.
    """
    folders = [Path(path) for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    folders += sorted(Path(folder).parent.glob("nvidia/*/lib"))
    places = [str(path / name) for path in folders if (path / name).exists()]
    wrong = "not found"
    for place in [*places, name]:
        try:
            ctypes.CDLL(place)
        except OSError as error:
            wrong = wrong if str(error).startswith(f"{name}: ") else str(error)
            continue
        stem = name.partition(".so")[0] + ".so"  # a link may lead to another version
        opened = [line.split()[-1] for line in _text("/proc/self/maps").splitlines()]
        files = [file for file in opened if Path(file).name.startswith(stem)]
        return (place if place in places else (files or [name])[0]), ""
    return "", wrong


def _find_tools(folder):
    """Where what XLA needs to compile for a GPU is: it looks in these places in this order."""
    flag = re.findall(r"--xla_gpu_cuda_data_dir=(\S+)", os.environ.get("XLA_FLAGS", ""))
    first = Path(flag[-1] if flag else "cuda_sdk_lib")
    packages = Path(folder).parent / "nvidia"
    roots = [Path("/usr/local/cuda"), Path("/opt/cuda"), packages / "cuda_nvcc", packages / "cu13"]
    roots.append(Path(folder, "cuda"))
    programs = [first / "bin", *map(Path, os.get_exec_path()), *(root / "bin" for root in roots)]
    ptxas = [str(path / "ptxas") for path in programs if os.access(path / "ptxas", os.X_OK)]
    libraries = [root / "nvvm/libdevice/libdevice.10.bc" for root in (first, *roots)]
    libdevice = [str(path) for path in libraries if path.exists()]
    return {"ptxas": (ptxas or [""])[0], "libdevice.10.bc": (libdevice or [""])[0]}


def _gather():
    """All facts."""
    processor, system = _processor(_text("/proc/cpuinfo")), [*_system(Path.cwd())]
    facts = Facts(_apart("_describe_tensorflow"), processor, system, *_nvidia())
    facts.visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if "error" in facts.tensorflow:
        return facts
    cuda, cudnn, folder = (facts.tensorflow[name] for name in ("cuda", "cudnn", "folder"))
    if cuda:
        facts.libraries = {
            name: _open_library(name, folder) for name in _library_names(cuda, cudnn)
        }
        facts.tools = _find_tools(folder)
    devices = ["CPU:0", *(f"GPU:{i}" for i in range(len(facts.tensorflow["gpus"])))]
    facts.products = {device: _apart("_multiply", device) for device in devices}
    return facts


# What is said of it


def _described(facts):
    """Lines about all facts."""
    tf = {"version": "that does not start", "cuda": None, "gpus": [], **facts.tensorflow}
    built = f"for CUDA {tf['cuda']} and cuDNN {tf['cudnn']}" if tf["cuda"] else "without CUDA"
    yield f"Python {platform.python_version()}; TensorFlow {tf['version']}, built {built}"
    yield from facts.system
    yield f"processor: {facts.processor}"
    yield f"NVIDIA's driver: {facts.driver or 'none'}"
    yield f"NVIDIA's GPUs in this machine: {'; '.join(facts.gpus) or 'none'}"
    if facts.visible is not None:
        yield f"CUDA_VISIBLE_DEVICES shows of them: {facts.visible or 'none'}"
    yield f"GPUs that TensorFlow sees: {'; '.join(tf['gpus']) or 'none'}"
    yield "what TensorFlow and XLA need on a GPU, and on no CPU:"
    for name, (where, wrong) in facts.libraries.items():
        yield f"  {name}: {where or wrong}{' (optional)' if name.startswith(OPTIONAL) else ''}"
    yield from (f"  {name}: {path or 'not found'}" for name, path in facts.tools.items())
    yield "products of two matrices, compiled by XLA:"
    for device, results in facts.products.items():
        if "error" in results:
            yield f"  {device}: {results['error']}"
        else:
            yield from (f"  {device}, {dtype}: {_result(dtype, results[dtype])}" for dtype in TYPES)


def _is_right(dtype, result):
    return result.get("error", math.inf) < TYPES[dtype]


def _result(dtype, result):
    if "failed" in result:
        return f"failed: {result['failed']}"
    right = "right" if _is_right(dtype, result) else f"WRONG, relative error {result['error']:.2g}"
    rate = f"{result['rate']:.3g} TFLOP/s with {result['size']:,} x {result['size']:,}"
    return f"{right}; compiled in {result['seconds']:.2g} seconds; {rate}"


def _advice(facts):
    """Lines about what to do, where there is a GPU."""
    tf = facts.tensorflow
    if "error" in tf or not (facts.unseen or tf["gpus"]):
        return
    missing = [name for name, (where, _) in facts.libraries.items() if not where]
    missing += [name for name, path in facts.tools.items() if not path]
    if DRIVER in missing or (facts.unseen and not facts.driver):
        yield "install NVIDIA's driver; a container must be started with it (docker run --gpus all)"
    if not tf["cuda"]:
        yield f"this TensorFlow is built without CUDA: uninstall it, then {INSTALL}"
    if names := [name for name in missing if not name.startswith((DRIVER, *OPTIONAL))]:
        yield f"{', '.join(names)}: {INSTALL}"
    first = FIRST_DRIVERS.get(int((tf["cuda"] or "0").split(".")[0]), 0)
    if (major := re.match(r"\d+", facts.driver or "")) and int(major[0]) < first:
        yield f"NVIDIA's driver {facts.driver} is too old: CUDA {tf['cuda']} needs {first} or newer"
    if facts.unseen:
        yield from (f"TensorFlow said: {line}" for line in tf.get("said", ()))


def _verdict(facts):
    """(whether everything that is there works, in a line; the exit status)."""
    if "error" in facts.tensorflow:
        return f"TensorFlow does not start: {facts.tensorflow['error']}", 1
    wrong = [
        device
        for device, results in facts.products.items()
        if not all(_is_right(dtype, results.get(dtype, {})) for dtype in TYPES)
    ]
    if wrong:
        return f"products are wrong, or failed, on {', '.join(wrong)}", 1
    if facts.unseen:
        return f"TensorFlow cannot use {facts.unseen} of this machine's {len(facts.gpus)} GPUs", 1
    if facts.tensorflow["gpus"]:
        gpus = [device for device in facts.products if device.startswith("GPU")]
        return f"everything works; TensorFlow will use {', '.join(gpus)}", 0
    why = "CUDA_VISIBLE_DEVICES shows no GPU" if facts.gpus else "there is no NVIDIA GPU"
    return f"TensorFlow will use the CPU: {why}", 0


# For others, who have TensorFlow already


def describe_machine() -> tuple[str, list[str]]:
    """Describes the processor, and each of NVIDIA's GPUs."""
    return _processor(_text("/proc/cpuinfo")), _nvidia()[1]


@functools.cache
def multiplies_bfloat16_faster() -> bool:
    """Tells whether the processor's products are faster in bfloat16 than in float32.

    They are with AMX. With AVX-512 alone they are on AMD's processors, and not on Intel's.
    """
    fields = _fields(_text("/proc/cpuinfo"))
    flags = fields.get("flags", "").split()
    by_avx = "avx512_bf16" in flags and "AMD" in fields.get("model name", "")
    return by_avx or "amx_bf16" in flags


def missing_library(build: Mapping[str, Any], folder: str) -> str | None:
    """Finds the first library that TensorFlow needs on a GPU and cannot open; None if it has all.

    Args:
      build: what `tf.sysconfig.get_build_info` returns.
      folder: TensorFlow's.

    Returns:
      Its name, and why it cannot be opened; or that this TensorFlow is built for no GPU.
    """
    if not build.get("cuda_version"):
        return "this TensorFlow is built without CUDA"
    for name in _library_names(build["cuda_version"], build.get("cudnn_version")):
        where, wrong = _open_library(name, folder)
        if not where and not name.startswith(OPTIONAL):
            return f"{name}: {wrong}"
    return None


def main() -> int:
    """Prints what was found, what is to be done, and the verdict; returns the exit status."""
    print("This takes some seconds for each device.", flush=True)
    facts = _gather()
    verdict, status = _verdict(facts)
    todo = [f"to do: {line}" for line in _advice(facts)]
    print(*_described(facts), *todo, f"verdict: {verdict}", sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
