"""The processor and the GPUs of this machine, without TensorFlow."""

import functools
import os
import platform
import re
import subprocess
from pathlib import Path

# What ONEDNN_MAX_CPU_ISA may be so that oneDNN has no products in bfloat16.
WITHOUT_BFLOAT16 = {
    *("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2"),
    *("AVX512_CORE", "AVX512_CORE_VNNI"),
}
INSTRUCTIONS = {  # flag in /proc/cpuinfo -> name
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_bf16": "AVX-512's bfloat16 products",
    "amx_bf16": "AMX's bfloat16 products",
}


@functools.cache
def multiplies_bfloat16_faster() -> bool:
    """Tells whether the processor's products are faster in bfloat16 than in float32.

    They are with AMX. With AVX-512 alone they are on AMD's processors, and not on Intel's. They are
    not where the environment's ONEDNN_MAX_CPU_ISA keeps oneDNN from using either.
    """
    fields = _fields(read_text("/proc/cpuinfo"))
    flags = fields.get("flags", "").split()
    by_avx = "avx512_bf16" in flags and "AMD" in fields.get("model name", "")
    allowed = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() not in WITHOUT_BFLOAT16
    return allowed and (by_avx or "amx_bf16" in flags)


@functools.cache
def has_amx() -> bool:
    """Tells whether the processor has AMX's products in bfloat16."""
    return "amx_bf16" in _fields(read_text("/proc/cpuinfo")).get("flags", "").split()


@functools.cache
def faster_type() -> str:
    """Names the type in which this machine multiplies faster: bfloat16 if it has a GPU."""
    return "bfloat16" if multiplies_bfloat16_faster() or describe_gpus() else "float32"


def describe_processor() -> str:
    """Says what the processor is and can do, and how many of its cores this process may use."""
    fields = _fields(read_text("/proc/cpuinfo"))
    flags = fields.get("flags", "").split()
    can = [words for flag, words in INSTRUCTIONS.items() if flag in flags]
    name = fields.get("model name", platform.machine())
    return ", ".join([f"{count_cores()} cores of {name}", *can])


def count_cores() -> int:
    """Counts the cores that this process may use, which a container or `taskset` may limit."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def describe_gpus() -> list[str]:
    """Describes NVIDIA's GPUs by nvidia-smi or its driver's files; none if CUDA may see none."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return []
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
        if gpus := [line for line in done.stdout.splitlines() if ", " in line]:
            return gpus
    except (OSError, subprocess.SubprocessError):
        pass
    texts = map(read_text, sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")))
    models = [re.search(r"Model:\s*(.*)", text) for text in texts]
    return [model[1] if model else "a GPU" for model in models]


def _fields(cpuinfo):
    """The "model name" and the "flags" in the text of /proc/cpuinfo, as far as it has them."""
    return dict(re.findall(r"^(model name|flags)\s*: (.*)$", cpuinfo, re.MULTILINE))


def read_text(path: str | Path) -> str:
    """Reads a text file; an empty text if it cannot be read."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
