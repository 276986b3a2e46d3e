"""Parts of a traced function that XLA compiles into one computation for one device.

On a GPU a recurrent relational network is a thousand small kernels, which XLA fuses. It compiles
once for every set of shapes, so that shapes have to stay the same from batch to batch.
"""

import contextlib
import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import logging

from rrn.hardware import count_cores

# Matrix products by cuBLAS: to try Triton's takes half a minute, and made no update faster.
FAST_TO_COMPILE = (
    "--xla_gpu_enable_triton_gemm=false --xla_gpu_enable_llvm_module_compilation_parallelism=true "
    f"--xla_gpu_force_compilation_parallelism={count_cores()}"
)
KEEP = "--tf_xla_persistent_cache_directory="  # in the environment's TF_XLA_FLAGS

_local = threading.local()


def is_compiling() -> bool:
    """Tells whether this thread traces for XLA; modules then compute what it fuses well."""
    return getattr(_local, "compiling", False)


def _within_xla(function, *args):
    outer, _local.compiling = is_compiling(), True
    try:
        return function(*args)
    finally:
        _local.compiling = outer


def run_compiled(function: Callable[[], Any]) -> Any:
    """Runs a function as one XLA computation of the current device; to be called while tracing.

    It may use tensors from around it, and read and change variables of that device alone.

    Raises:
      ValueError: the shape of a tensor that it uses may differ from call to call, so that XLA would
        compile each time.
    """
    traced = functools.partial(_within_xla, function)
    concrete = tf.function(traced, jit_compile=True, autograph=False).get_concrete_function()
    for given in concrete.captured_inputs:
        if given.dtype != tf.resource and not given.shape.is_fully_defined():
            raise ValueError(
                f"{given.name.removesuffix(':0')} has the shape {given.shape}, which may differ "
                "from batch to batch; --jit=off runs without XLA"
            )
    return concrete()


@contextlib.contextmanager
def refusals(what: str) -> Iterator[None]:
    """Within it, an operation that XLA cannot compile is a ValueError that says what to do."""
    try:
        yield
    except tf.errors.OpError as error:
        if "tf2xla conversion failed" not in error.message:
            raise
        reason = re.sub(r"\{\{.*?\}\}", "", error.message.splitlines()[0]).strip()
        raise ValueError(
            f"{what}: XLA cannot compile it; --jit=off runs it without XLA: {reason}"
        ) from error


def compile_fast() -> None:
    """Sets `FAST_TO_COMPILE`; must be called before TensorFlow's first operation."""
    _set_flags("XLA_FLAGS", FAST_TO_COMPILE)


def keep_compiled(gpu: tf.config.PhysicalDevice) -> None:
    """Keeps what XLA compiles for GPUs in ~/.cache/rrn/xla, unless TF_XLA_FLAGS names a folder.

    Must be called before TensorFlow's first operation.
    """
    if KEEP in os.environ.get("TF_XLA_FLAGS", ""):
        return
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    details = tf.config.experimental.get_device_details(gpu)
    kind = re.sub(r"\W+", "_", details.get("device_name", "gpu"))
    folder = Path(cache) / "rrn" / "xla" / f"{tf.__version__}-{kind}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        logging.warning("What XLA compiles is not kept: %s", error)
        return
    _set_flags("TF_XLA_FLAGS", f"{KEEP}{folder} --tf_xla_persistent_cache_device_types=GPU")
    _set_flags("XLA_FLAGS", f"--xla_gpu_per_fusion_autotune_cache_dir={folder}")


def _set_flags(variable, flags):
    """Adds flags to the environment, before the user's own: of two, the later one holds."""
    os.environ[variable] = f"{flags} {os.environ.get(variable, '')}".strip()


def xla(function: Callable) -> Callable:
    """Makes XLA compile a function; within what XLA compiles anyway, it is a part of that."""
    # A partial, since TensorFlow counts the tracings of functions that share their code together.
    traced = functools.partial(_within_xla, function)
    by_itself = tf.function(traced, jit_compile=True, autograph=False)

    @functools.wraps(function)
    def call(*args):
        if is_compiling():
            return function(*tf.nest.map_structure(tf.convert_to_tensor, args))
        return by_itself(*args)

    return call


def xla_in_float32(function: Callable) -> Callable:
    """Makes XLA compile a function, in float32; its results have the first tensor's type."""

    @xla
    def compiled(*values):
        results = function(*(tf.cast(value, tf.float32) for value in values))
        return tf.nest.map_structure(lambda result: tf.cast(result, values[0].dtype), results)

    return compiled
