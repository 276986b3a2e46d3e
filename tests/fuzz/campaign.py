"""The kinds of inputs, and how many attempts at them end how."""

import collections
import random
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis.strategies import SearchStrategy

from tests.fuzz import (
    clients,
    command_lines,
    config_files,
    contents,
    damage,
    sources,
    texts,
    trainings,
)
from tests.fuzz.attempts import BAD, Change, attempt

ROOMS = damage, sources, contents, command_lines, config_files, texts, clients, trainings
KINDS = {name: kind for room in ROOMS for name, kind in room.KINDS.items()}
BLOCK = 200  # so many changes of a kind are drawn at once


def draw(changes: SearchStrategy[Change], seed: str, count: int) -> list[Change]:
    """Draws changes, the same for the same seed; fewer where there are no more different ones."""
    found = []

    @with_seed(random.Random(seed).getrandbits(64))
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(changes)
    def note(change):
        found.append(change)

    note()
    return found[:count]


def campaign(
    seed: int, minutes: float, count: int | None = None, names: list[str] | None = None
) -> dict[str, dict[str, int]]:
    """Tries the kinds in turn until the time is over or so many inputs of each are tried.

    Args:
      seed: of all changes. The n-th change of a kind is the same whatever the time.
      minutes: the time.
      count: inputs of each kind, times its share; None for as many as the time allows.
      names: the kinds; None for all.

    Returns:
      kind -> outcome -> count. What went wrong is printed with the change.
    """
    kinds = {name: KINDS[name] for name in names or KINDS}
    counts = {name: collections.Counter() for name in kinds}
    with tempfile.TemporaryDirectory() as top:
        expected = {name: _write(kind, Path(top, name)) for name, kind in kinds.items()}
        end, block = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end and (count is None or block * BLOCK < count):
            size = BLOCK if count is None else min(BLOCK, count - block * BLOCK)
            for name, kind in kinds.items():
                if time.monotonic() > end:
                    break
                changes = draw(kind.changes, f"{seed} {name} {block}", round(size * kind.share))
                for change in changes:
                    if time.monotonic() > end:
                        break
                    outcome, said = attempt(kind, Path(top, name), expected[name], change)
                    counts[name][outcome] += 1
                    if outcome in BAD:
                        print(f"{name}: {change.words}: {outcome}: {said}", file=sys.stderr)
            block += 1
            print(f"{sum(of.total() for of in counts.values()):,} inputs", file=sys.stderr)
    return {name: dict(counter) for name, counter in counts.items()}


def _write(kind, folder):
    """Writes a right input; returns what the program makes of it."""
    folder.mkdir()
    kind.write(folder / kind.file)
    return kind.read(folder / kind.file)
