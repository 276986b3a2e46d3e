"""What all experiments have in common: the fields of a config that `rrn.training` reads.

An experiment gives those that have no value here, and whatever differs.
"""

import dataclasses

import ml_collections


@dataclasses.dataclass(kw_only=True)
class Train:
    """How it is trained."""

    batch_size: int  # of all devices together
    num_updates: int
    stages: tuple = ()  # see rrn/training/stages.py; (): one, of all that is here
    repeats: int = 1  # of the stages
    optimizer: str = "adam"  # or muon, rmsprop
    muon_exclude: str = ""  # regular expression on names: matrices that Muon leaves to Adam
    learning_rate: float
    warmup_updates: int = 0
    decay: str = "constant"  # or cosine, exponential
    decay_rate: float = 1.0  # of decay exponential, in every decay_updates
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


def experiment(*, task, data, model, train, evaluate):
    """The config of an experiment.

    task: a module of `rrn.tasks`; data: a prepared file; model: a dict of the task's own fields;
    train: `Train`; evaluate: `Evaluate`.
    """
    return ml_collections.ConfigDict(
        {
            "task": task,
            "seed": 0,
            "data": {"path": data},
            "model": model,
            "train": vars(train),
            "evaluate": vars(evaluate),
            "variables": {"policy": "cpu"},  # where they are: see rrn/distribute/variables.py
        }
    )


def check_variant(variant, variants):
    """Raises ValueError for a variant that is not among `variants`."""
    if variant not in variants:
        raise ValueError(f"variants are {', '.join(variants[1:])}, got {variant!r}")


def few_updates(config, examples=0):
    """Shortens training and evaluations, each on so many examples (0: all), to seconds."""
    config.train.update(
        batch_size=16,
        num_updates=20,
        log_every_updates=5,
        evaluate_every_updates=20,
        checkpoint_every_updates=10,
        validation_examples=examples,
    )
    config.evaluate.examples = examples
