"""Sudoku, 17 to 34 givens (Palm et al. 2018).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python main.py --config configs/sudoku.py:VARIANT
    python -m rrn.tasks.sudoku FILE_OR_81_CHARACTERS

The paper: 94.1 % of the boards with 17 givens solved after 32 steps, 96.6 % after 64. How many
updates and devices that took is not known. Its batch is 64 boards on each device; here
`train.batch_size` is that of four.

    VARIANT     solved after 64 steps: all, 17 givens   time, hardware (candidates: 4 runs)
                the paper's settings                    not run to their end here
    segments    99.6 %, 97.9 %                          20 hours, one core with AVX-512
    quick       82.2 %, 30.5 %                          12 minutes, 2 cores with AVX-512
    gpu         99.7 %, 97.9 %                          4.7 minutes, one NVIDIA H200
    candidates  99.70 ± 0.09 %, 97.7 ± 0.8 %            56 to 88 minutes, one core with AVX-512
    extreme     61.9 % of Sudoku-Extreme (1,024: 97 %)  7 hours, 2 shared cores with AMX
    hard        43.9 % of hard puzzles (1,024: 96.8 %)  20 core-hours, after candidates
    test        10 updates                              less than a minute

`segments` ran in twelve parts; the first began from the weights of a training without segments, of
101 minutes. `hard` began from the weights of an earlier `candidates`.

    python -m data_prep sudoku --puzzles TRAIN,VALID,TEST --mixed data/sudoku.h5 \
        --out data/sudoku_hard.h5                                                     (hard)
    python -m data_prep sudoku --puzzles TRAIN,VALID,TEST --neighbours \
        --out data/sudoku_extreme.h5                                               (extreme)
"""

from typing import Any

from rrn.config import (
    Constant,
    Cosine,
    Data,
    Evaluate,
    Experiment,
    MuonSettings,
    Segments,
    Stage,
    Train,
    replace,
)
from rrn.config_file import look_up
from rrn.tasks import sudoku

CONSTANT = Constant(warmup_updates=100)


def paper() -> Experiment:
    return Experiment(
        model=sudoku.Model(),
        data=Data(path="data/sudoku.h5"),
        train=Train(
            batch_size=256,
            num_updates=300_000,
            learning_rate=2e-4,
            l2=1e-4,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=256),
    )


def ours() -> Experiment:
    """What our own recipes share, with augmented boards."""
    return replace(
        paper(),
        model={"augment_digits": True, "augment_symmetries": True},
        train={
            "schedule": Cosine(warmup_updates=100),
            "l2": 0.0,
            "clip_norm": 1.0,
            "checkpoint_every_seconds": 60,
        },
        evaluate={"batch_size": 64},
    )


def segments() -> Experiment:
    return replace(
        ours(),
        model={"num_steps": 8, "compute_dtype": "auto"},
        train={
            "batch_size": 32,
            "num_updates": 10_000,
            "optimizer": MuonSettings(exclude="embedding|readout"),
            "learning_rate": 1.5e-3,
            "ema_decay": 0.998,
            "segments": Segments(max_segments=8, leave_probability=0.7),
            "error_share": 0.8,
            "evaluate_every_updates": 2_000,
            "validation_examples": 1_800,  # with 360, noise would choose the weights
        },
    )


def quick() -> Experiment:
    config = replace(
        segments(),
        train={
            "batch_size": 16,
            "learning_rate": 3e-3,
            "segments": {"max_segments": 3},
            "evaluate_every_updates": 1_000,
            "validation_examples": 360,
        },
        # Of 18,000, as many of each number of givens.
        evaluate={"by_stage": False, "examples": 3_600},
    )
    (stage,) = config.train.stages
    stages = (
        replace(stage, name="fresh", num_updates=2_000, segments=None, schedule=CONSTANT),
        replace(stage, name="carried", num_updates=5_000),
    )
    return replace(config, train={"stages": stages})


def gpu() -> Experiment:
    return replace(
        segments(),
        train={
            "batch_size": 512,
            "num_updates": 9_000,
            "learning_rate": 3e-3,
            "segments": {"max_segments": 6},
            "error_share": 0.0,
            "evaluate_every_updates": 3_000,
        },
        evaluate={"batch_size": 1_800},
        variables={"encoder_device": "tower"},
    )


def over_candidates() -> Experiment:
    """The recipes over candidates share model, optimizer and the first stage, without segments."""
    config = replace(
        segments(),
        model={
            "nodes": "candidates",
            "hidden_size": 32,
            "augment_digits": False,  # which would change nothing
            "augment_symmetries": False,
        },
        train={"batch_size": 16, "learning_rate": 3e-3, "error_share": 0.0},
        evaluate={"by_stage": False},
    )
    (stage,) = config.train.stages
    fresh = replace(stage, name="fresh", num_updates=400, segments=None, schedule=CONSTANT)
    return replace(config, train={"stages": (fresh, replace(stage, name="carried"))})


def candidates() -> Experiment:
    config = replace(
        over_candidates(),
        train={
            "ema_decay": 0.995,
            "evaluate_every_updates": 6_000,
            "validation_examples": 900,
        },
    )
    fresh, carried = config.train.stages
    longer = replace(carried, learning_rate=2e-3, group_shares={17: 0.6})
    settle = replace(longer, learning_rate=1e-3, segments={"leave_probability": 0.3})
    stages = (
        fresh,
        up_to(carried, 0, 8, 5_000, name="carried", schedule=CONSTANT),
        up_to(longer, 0, 16, 12_500, name="longer"),
        # A solved board stays for some segments, or it would be lost again after further steps.
        up_to(settle, 0, 12, 4_500, name="settle"),
    )
    return replace(config, train={"stages": stages})


def up_to(
    stage: Stage,
    revealed: int,
    max_segments: int,
    num_updates: int,
    num_steps: int = 8,
    **fields: Any,
) -> Stage:
    """The stage with up to `revealed` further cells, and boards kept for up to `max_segments`."""
    return replace(
        stage,
        num_updates=num_updates,
        options={"revealed": revealed, "num_steps": num_steps},
        segments={"max_segments": max_segments},
        **fields,
    )


def extreme() -> Experiment:
    """Starts with many cells revealed; later boards have fewer and are kept for longer."""
    config = replace(
        over_candidates(),
        data={"path": "data/sudoku_extreme.h5"},
        train={"ema_decay": 0.998, "evaluate_every_updates": 2_000, "validation_examples": 100},
    )
    fresh, carried = config.train.stages
    # Solved boards stay for longer, as in `candidates`.
    settle = replace(carried, learning_rate=1e-3, segments={"leave_probability": 0.5})
    stages = (
        replace(fresh, options={"revealed": 24}),
        up_to(carried, 16, 8, 1_600, name="revealed_16", schedule=CONSTANT),
        up_to(carried, 8, 8, 2_000, name="revealed_8", schedule=CONSTANT),
        up_to(carried, 4, 8, 4_000, name="revealed_4", learning_rate=2e-3, schedule=CONSTANT),
        up_to(carried, 2, 16, 4_000, name="revealed_2", learning_rate=2e-3, schedule=CONSTANT),
        up_to(carried, 2, 16, 6_000, name="falling", learning_rate=2e-3),  # its rate
        up_to(carried, 2, 16, 14_000, name="again", learning_rate=1.5e-3),
        up_to(carried, 1, 16, 26_000, 16, name="longer", learning_rate=1e-3),
        up_to(settle, 1, 16, 34_000, 16, name="settle"),
    )
    return replace(config, train={"stages": stages})


def hard() -> Experiment:
    config = replace(
        over_candidates(),
        data={"path": "data/sudoku_hard.h5"},
        train={
            "ema_decay": 0.995,
            "learning_rate": 1e-3,
            "evaluate_every_updates": 2_000,
            "validation_examples": 400,
        },
    )
    carried = config.train.stages[-1]
    stages = (
        up_to(carried, 4, 8, 8_000, name="revealed_4", learning_rate=2e-3, schedule=CONSTANT),
        up_to(carried, 2, 16, 8_000, name="revealed_2", learning_rate=2e-3, schedule=CONSTANT),
        up_to(carried, 2, 16, 8_500, name="falling", learning_rate=2e-3),  # its rate
        up_to(carried, 2, 32, 18_000, name="longer"),
        up_to(carried, 1, 32, 27_000, name="revealed_1"),
        up_to(carried, 1, 12, 52_000, name="short", schedule=Constant(warmup_updates=1_000)),
        up_to(carried, 1, 32, 29_000, name="long"),
        up_to(carried, 1, 6, 10_000, 16, name="short_16", schedule=Constant(warmup_updates=300)),
        up_to(carried, 1, 16, 18_000, 16, name="long_16"),
        up_to(carried, 1, 4, 12_000, 16, name="short_64", schedule=Constant(warmup_updates=300)),
        up_to(carried, 1, 12, 16_000, 16, name="long_192"),
        up_to(carried, 1, 16, 5_500, 16, name="settle", learning_rate=5e-4),
        up_to(carried, 1, 16, 32_000, 16, name="long_256"),
    )
    return replace(config, train={"stages": stages})


def test() -> Experiment:
    return replace(
        ours(),
        model={"num_steps": 2, "evaluation_steps": 2, "compute_dtype": "bfloat16"},
        train={
            "batch_size": 8,
            "num_updates": 10,
            "learning_rate": 1e-3,
            "log_every_updates": 5,
            "evaluate_every_updates": 10,
            "validation_examples": 18,
            "checkpoint_every_updates": 5,
        },
        evaluate={"examples": 18},
    )


RECIPES = {
    "": paper,
    "segments": segments,
    "quick": quick,
    "gpu": gpu,
    "candidates": candidates,
    "extreme": extreme,
    "hard": hard,
    "test": test,
}
get_config = look_up(RECIPES)
