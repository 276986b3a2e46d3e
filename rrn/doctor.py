"""Tells which devices TensorFlow can use here, and what is missing: `python -m rrn.doctor`.

What it prints is what a bug report needs of a machine.

The exit status is 1 where a GPU is there that TensorFlow cannot use, or where a product is wrong.
TensorFlow runs in processes of its own, so that even its crash is an answer.
"""

from rrn.data_prep.interruption import interruption

if __name__ == "__main__":  # before the imports that take a second
    interruption.expect()
import dataclasses
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
from pathlib import Path
from typing import Any

from rrn.data_prep.failures import error_line
from rrn.hardware import (
    DRIVER,
    OPTIONAL,
    find_nvidia,
    find_tools,
    library_names,
    open_library,
    processor_in_words,
    read_text,
)

SECONDS = 300  # in which a process must have answered
INSTALL = "pip install 'rrn[gpu]', or in a checkout pip install -e '.[gpu]'"
FIRST_DRIVERS = {12: 525, 13: 580}  # CUDA's major version -> the first driver for it
TYPES = {"float32": 2e-3, "bfloat16": 2e-2}  # -> relative error that is right, also with TF32


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


def _system(folder, root=Path("/")):
    """Lines about the system, the memory, and a folder in which runs may be."""
    installed = [*importlib.metadata.distributions(name="rrn")]
    version = installed[0].version if installed else "that is not installed,"
    yield f"rrn {version} in {Path(__file__).parent}; {platform.platform()}"
    known = dict(re.findall(r"^(\w+): +(\d+) kB$", read_text(root / "proc/meminfo"), re.MULTILINE))
    if "MemAvailable" in known:
        total, free = (_gib(1024 * int(known[n])) for n in ("MemTotal", "MemAvailable"))
        limit = read_text(root / "sys/fs/cgroup/memory.max").strip()  # of a container
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


def _gather():
    """All facts."""
    processor, system = processor_in_words(read_text("/proc/cpuinfo")), [*_system(Path.cwd())]
    facts = Facts(_apart("_describe_tensorflow"), processor, system, *find_nvidia())
    facts.visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if "error" in facts.tensorflow:
        return facts
    cuda, cudnn, folder = (facts.tensorflow[name] for name in ("cuda", "cudnn", "folder"))
    if cuda:
        facts.libraries = {name: open_library(name, folder) for name in library_names(cuda, cudnn)}
        facts.tools = find_tools(folder)
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
