"""The command line; the status is 1 if anything went wrong."""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors come as exceptions
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from tests.fuzz import trainings
from tests.fuzz.attempts import BAD, ERROR, OTHER, SAME
from tests.fuzz.campaign import KINDS, campaign


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    found.add_argument("--minutes", type=float, default=5.0)
    found.add_argument("--count", type=int, help="inputs of each kind, times its share")
    found.add_argument("--seed", type=int, default=0)
    found.add_argument(
        "--kind", action="append", choices=KINDS, help="all but trainings if not given"
    )
    return found


def table(counts: dict[str, dict[str, int]]) -> str:
    """A Markdown table, a row for each kind."""
    good = ERROR, SAME, OTHER
    rows = [("input", *good, "anything else"), ("---",) * 5]
    for kind, of in counts.items():
        numbers = [of.get(outcome, 0) for outcome in good]
        numbers.append(sum(of.get(outcome, 0) for outcome in BAD))
        rows.append((kind, *(f"{number:,}" for number in numbers)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> int:
    options = parser().parse_args()
    names = options.kind or [name for name in KINDS if name not in trainings.KINDS]
    counts = campaign(options.seed, options.minutes, options.count, names)
    print(table(counts))
    for outcome in BAD:
        print(f"{outcome}: {sum(of.get(outcome, 0) for of in counts.values())}")
    print(f"{sum(sum(of.values()) for of in counts.values()):,} inputs, seed {options.seed}")
    return int(any(outcome in BAD for of in counts.values() for outcome in of))


if __name__ == "__main__":
    sys.exit(main())
