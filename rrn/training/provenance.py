"""What results say of how they were made: when, from which updates, on what, with which program."""

import datetime
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from rrn.distribute.devices import format_memory
from rrn.files.weights_file import Weights
from rrn.hardware import describe_gpus, describe_processor
from rrn.training.curves import MEMORY
from rrn.training.identity import program
from rrn.training.setup import Setup

Made = dict[str, Any]


def provenance(setup: Setup, weights: Weights, lines: Sequence[Mapping[str, Any]]) -> Made:
    """Says how results are made.

    Args:
      weights: what is evaluated.
      lines: of metrics.jsonl, where the weights are the run's own; else none.

    Returns:
      "date" (UTC); "weights", their SHA-256; "update", that of the weights, and "validation", what
      is known of theirs: "of", what their "error" is, and of a run's own the number of validations,
      "count", and the "best_error" of them with its "best_update"; of a run's own
      "training_seconds", without the times in which it was stopped, "examples_per_second", the
      median, and "peak_memory" in bytes (see `rrn.distribute.devices.peak_memory`); "devices", the
      "processor", the "gpus", and versions.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    devices = list(setup.machines.evaluation_devices)
    return {
        "date": now.isoformat(timespec="seconds"),
        "weights": weights.sha256(),
        "update": weights.attributes.get("update"),
        **_of_validation(setup.report.error, weights, lines),
        **_of_training(lines),
        "devices": devices,
        "processor": describe_processor(),
        "gpus": describe_gpus(),
        "python": platform.python_version(),
        **program(),
    }


def _of_validation(of, weights, lines):
    name = "validation_error"
    error = weights.attributes.get(name)
    if error is None:
        return {}
    found = {"of": of, "error": float(error)}
    errors = {line["update"]: line[name] for line in lines if _is_number(line.get(name))}
    if errors:
        best = min(reversed(errors), key=errors.__getitem__)  # the last of equals, as it is kept
        found |= {"count": len(errors), "best_update": best, "best_error": errors[best]}
    return {"validation": found}


def _of_training(lines):
    rates = sorted(_numbers(lines, "examples_per_second"))
    seconds = _numbers(lines, "seconds")
    if not rates or not seconds:
        return {}
    # In runs of earlier versions each part counts from zero.
    ends = [a for a, b in zip(seconds, [*seconds[1:], -1.0], strict=True) if b < a]
    names = dict.fromkeys(name for line in lines for name in line if name.startswith(MEMORY))
    return {
        "training_seconds": sum(ends),
        "examples_per_second": rates[len(rates) // 2],
        "peak_memory": {n.removeprefix(MEMORY): max(_numbers(lines, n), default=0) for n in names},
    }


def seconds_so_far(lines: Sequence[Mapping[str, Any]]) -> float:
    """Finds how long a run had trained at the last of its lines, 0 where there is none.

    Args:
      lines: of metrics.jsonl.
    """
    return (_numbers(lines, "seconds") or [0.0])[-1]


def _numbers(lines, name):
    """What lines say of something; a line may lack it, or hold what is no number."""
    return [line[name] for line in lines if _is_number(line.get(name))]


def _is_number(value):
    return isinstance(value, (int, float))


def weights_in_words(made: Made) -> str:
    """Says in a sentence which weights were evaluated, and what their validation found.

    Args:
      made: see `provenance`; that of earlier checkouts lacks "validation".

    Returns:
      The sentence, "" where nothing is known.
    """
    if made["update"] is None:
        return ""
    said, validation = f"The weights of update {made['update']:,}", made.get("validation")
    if validation is None:
        return f"{said} were evaluated."
    name, _, unit = validation["of"].partition(", ")

    def number(error):
        return f"{error:.4g} {unit}".strip()

    said += f" were evaluated. Their validation has {name}: {number(validation['error'])}"
    if "count" not in validation:
        return f"{said}."
    if validation["best_update"] == made["update"]:
        return f"{said}, the best of {_validations(validation['count'])}."
    best, update = number(validation["best_error"]), validation["best_update"]
    return f"{said}; the best of {_validations(validation['count'])} has {best}, at {update:,}."


def _validations(count):
    return f"{count} validation{'' if count == 1 else 's'}"


def in_words(made: Made) -> list[str]:
    """Says the same in sentences, for people.

    Args:
      made: see `provenance`; that of earlier checkouts lacks the memory and the stages.
    """
    said = [f"Evaluated at {made['date'].replace('T', ' ').replace('+00:00', ' UTC')}"]
    if "training_seconds" in made:
        minutes, rate = made["training_seconds"] / 60, made["examples_per_second"]
        said.append(f"Training took {minutes:,.1f} minutes, at {rate:,.0f} examples/s")
        if made.get("peak_memory"):
            said[-1] += f", and at most {format_memory(made['peak_memory'])} of memory"
    hardware = "; ".join([*made["gpus"], made["processor"]])
    said.append(f"Evaluated on {', '.join(made['devices'])} of {hardware}")
    commit = f" at commit {made['commit']}" if made["commit"] else ""
    said.append(
        f"rrn {made['rrn']}{commit}, TensorFlow {made['tensorflow']}, Python {made['python']}"
    )
    return [f"{sentence}." for sentence in said]
