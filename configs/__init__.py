"""What all experiments have in common: the fields of a config that `rrn.training` reads.

A file of this package is one experiment. Its first recipe has the settings of the publication, and
gives the fields that have no value here. Every other recipe is a function that starts from a named
one and changes fields of it. `RECIPES` maps the variants that `--config FILE:VARIANT` takes to
their recipes.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ml_collections import ConfigDict

Recipe = Callable[[], ConfigDict]


@dataclasses.dataclass(kw_only=True)
class Train:
    """How it is trained.

    A field that nothing uses, as `decay_rate` with a constant rate, keeps the value that it has
    here.
    """

    batch_size: int  # of all devices together
    num_updates: int = 0  # 0: each stage has its own
    stages: tuple = ()  # see rrn/training/stages.py; (): one, of all that is here
    repeats: int = 1  # of the stages
    optimizer: str = "adam"  # or muon, rmsprop
    muon_exclude: str = ""  # regular expression on names: matrices that Muon leaves to Adam
    muon_weight_decay: float = 0.0  # of Muon's matrices, times the learning rate at every update
    learning_rate: float
    warmup_updates: int = 0
    decay: str = "constant"  # or cosine, exponential, staircase
    decay_rate: float = 1.0  # of decay exponential or staircase, in every decay_updates
    decay_updates: int = 0
    l2: float = 0.0
    clip_norm: float = 0.0  # 0: no clipping
    average_decay: float = 0.0  # of the weights' moving averages; 0: none
    max_segments: int = 1  # updates that an example may stay, see rrn/training/segments.py
    leave_probability: float = 0.5  # with which a solved example leaves before that
    error_share: float = 0.0  # of a batch, drawn by validation errors: rrn/training/sampling.py
    log_every_updates: int = 100
    evaluate_every_updates: int
    validation_examples: int = 0  # 0: all
    checkpoint_every_updates: int
    checkpoint_every_seconds: int = 300


@dataclasses.dataclass(kw_only=True)
class Evaluate:
    """On what it is evaluated in the end."""

    path: str = ""  # data.path if empty
    split: str = "test"
    examples: int = 0  # drawn, from all over the split; 0: all
    batch_size: int
    passes: int = 1  # over the examples, whose draws differ
    by_stage: bool = True  # also with the weights at the end of each stage


def experiment(
    *, task: str, data: str, model: Mapping[str, Any], train: Train, evaluate: Evaluate
) -> ConfigDict:
    """Makes the config of an experiment.

    Args:
      task: the name of one of `rrn.tasks`.
      data: the path of a prepared file.
      model: the task's own fields.
      train: how it is trained.
      evaluate: on what it is evaluated.

    Returns:
      A config whose fields a recipe, or `--config.FIELD=VALUE`, may change.
    """
    return ConfigDict(
        {
            "task": task,
            "seed": 0,
            "data": {"path": data},
            "model": dict(model),
            "train": vars(train),
            "evaluate": vars(evaluate),
            # Where they are, and along which axis they are cut: see rrn/distribute/sharding.py.
            # encoder_device: cpu, where all towers share it, or tower, on which each runs its own.
            "variables": {"policy": "auto", "axis": "longest", "encoder_device": "cpu"},
        }
    )


def look_up(recipes: Mapping[str, Recipe]) -> Callable[[str], ConfigDict]:
    """Makes the `get_config` of a config file.

    Args:
      recipes: variant -> recipe; the variant "" is the file without a variant.

    Returns:
      A function of a variant, "" if it is not given. It raises ValueError, which names the
      variants, for one that is not among them.
    """

    def get_config(variant: str = "") -> ConfigDict:
        if variant not in recipes:
            variants = ", ".join(name for name in recipes if name)
            raise ValueError(f"variants are {variants}, got {variant!r}")
        return recipes[variant]()

    return get_config


def shorten(config: ConfigDict, examples: int = 0) -> None:
    """Shortens a recipe to seconds of training and evaluation.

    Args:
      config: the recipe, which is changed.
      examples: of each split that is evaluated; 0: all.
    """
    config.train.update(
        batch_size=16,
        num_updates=20,
        log_every_updates=5,
        evaluate_every_updates=20,
        checkpoint_every_updates=10,
        validation_examples=examples,
    )
    config.evaluate.examples = examples
