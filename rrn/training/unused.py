"""Fields of a config that nothing uses, which are an error: a value that changes nothing misleads.

A field of `train` is not used if every stage has a value of its own, and a stage's field is not
used if all its objectives have one. Some fields mean something only with certain values of others.
A field of `train` that is not used keeps its value of `UNSET`; a stage or objective leaves such a
field out.
"""

from collections.abc import Mapping

from ml_collections import ConfigDict

from rrn.training.fields import OBJECTIVE_FIELDS, SHARED_STAGE_FIELDS

# What a field of `train` is where nobody has set it, as in `configs.Train`.
UNSET = {
    "num_updates": 0,
    "max_segments": 1,
    "leave_probability": 0.5,
    "error_share": 0.0,
    "optimizer": "adam",
    "muon_exclude": "",
    "muon_weight_decay": 0.0,
    "learning_rate": 0.0,
    "warmup_updates": 0,
    "decay": "constant",
    "decay_rate": 1.0,
    "decay_updates": 0,
    "l2": 0.0,
    "clip_norm": 0.0,
}
STEADY = "exponential", "staircase"  # decays by a factor in every so many updates
# A field that is used only with certain values of another field -> (that field, whether a value of
# it is one of them, these values in words).
NEEDS = {
    "muon_exclude": ("optimizer", lambda value: value == "muon", "muon"),
    "muon_weight_decay": ("optimizer", lambda value: value == "muon", "muon"),
    "decay_rate": ("decay", lambda value: value in STEADY, " or ".join(STEADY)),
    "decay_updates": ("decay", lambda value: value in STEADY, " or ".join(STEADY)),
    "leave_probability": ("max_segments", lambda value: value > 1, "above 1"),
}
INHERITED = {**SHARED_STAGE_FIELDS, **OBJECTIVE_FIELDS}


def check_used(config: ConfigDict) -> None:
    """Checks that what is set in `train` and in its stages is used.

    Args:
      config: the experiment's, with which `check_config` finds nothing wrong.

    Raises:
      ValueError: a field is set and not used. The message says what to set instead.
    """
    chains = _chains(config.train)
    used = {place for chain in chains for place in _used(chain)}
    levels = {path: fields for chain in chains for path, fields in chain}
    for path, fields in levels.items():
        for name, value in fields.items():
            unset = path == "train" and name in UNSET and value == UNSET[name]
            if name in INHERITED and (path, name) not in used and not unset:
                raise ValueError(_message(path, name, levels))
    if not config.train.stages and not config.evaluate.by_stage:
        raise ValueError("evaluate.by_stage: not used without train.stages, got False")


def _chains(train: ConfigDict) -> list[list[tuple[str, Mapping]]]:
    """For each objective of the plan, the levels that it takes fields from, as (path, fields)."""
    chains = []
    for i, stage in enumerate(train.stages):
        path = f"train.stages[{i}]"
        objectives = [
            [(f"{path}.objectives[{j}]", objective)]
            for j, objective in enumerate(stage.get("objectives", ()))
        ]
        chains += [[("train", train), (path, stage), *own] for own in objectives or [[]]]
    return chains or [[("train", train)]]


def _used(chain: list[tuple[str, Mapping]]) -> list[tuple[str, str]]:
    """The (path, field) that an objective uses."""
    values = {name: value for _, fields in chain for name, value in fields.items()}
    paths = {name: path for path, fields in chain for name in fields}
    return [(paths[name], name) for name in values if _has_what_it_needs(name, values)]


def _has_what_it_needs(name: str, values: Mapping) -> bool:
    if name not in NEEDS:
        return True
    other, fits, _ = NEEDS[name]
    return fits(values[other])


def _message(path: str, name: str, levels: Mapping[str, Mapping]) -> str:
    leave = f"leave it {UNSET[name]!r}" if path == "train" else "leave it out"
    got = f"got {levels[path][name]!r}: {leave}"
    below = [p for p, fields in levels.items() if p.startswith(f"{path}.") and name in fields]
    if below:
        instead = " or ".join(f"{p}.{name}" for p in below)
        return f"{path}.{name}: not used, {got}, and set {instead}"
    other, _, words = NEEDS[name]
    return f"{path}.{name}: not used without {other} {words}, {got}"
