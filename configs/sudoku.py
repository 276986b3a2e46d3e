"""Sudoku, 17 to 34 givens (Palm et al. 2018).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python main.py --config configs/sudoku.py --devices 0,1,2,3
    python -m rrn.tasks.sudoku FILE_OR_81_CHARACTERS

The paper: 94.1 % of the boards with 17 givens solved after 32 steps, 96.6 % after 64. How many
updates that took is not known. Its batch is 64 boards on each device: `train.batch_size` is that of
four. `--config.model.recompute=True` trades time for memory. These settings have not been run to
their end here.

Variants; each result is of one seed, on the test boards with 17 to 34 givens:
  cpu    10,000 updates of 8 steps, 5,000 of 16 and 3,000 of 32 with Adam and bfloat16 products:
         83.0 % solved after 64 steps, of those with 17 givens 27.6 %, after 101 minutes of one
         core.
  segments  In carried segments of 8 steps, from cpu's weights (--weights
         runs/sudoku_cpu/weights.h5): 99.6 % solved after 64 steps, of those with 17 givens 97.9 %,
         after about 20 hours of one core with AVX-512, beside other work. `pretrained/sudoku.h5`.
         It ran in twelve parts, each from the last one's weights. Three had at most 6 segments,
         boards that left with probability 0.5, and an error share of 0.5: 6,900 updates of a cosine
         over 17,400, 3,000 of one from 1.2e-3, and 14,000 of one from 2e-3. Nine had the settings
         below, the first four of these in float32: 4,300 updates at a constant rate (averages of
         0.999), 4,500 of a cosine over 5,000, 9,400 of one over 10,000, and 9,400, 16,000,
         13,500, 15,500, 20,000 and 25,000 of cosines that end there, the last three from 7e-4,
         5e-4 and 7e-4.
  quick  2,000 updates of 8 steps with Muon and bfloat16 products, then 5,000 in carried segments:
         82.2 % solved after 64 steps, of 3,600 test boards, after 12 minutes on 2 cores of an AMD
         EPYC with AVX-512, --devices cpu:2, evaluation included.
  gpu    9,000 updates of 512 boards in carried segments of 8 steps, from nothing: 99.7 % solved
         after 64 steps, of those with 17 givens 97.9 % (95.8 % after 32), after 4.7 minutes of one
         NVIDIA H200, beside two other trainings, --devices 0.
  test   10 updates of 8 boards of 2 steps, to see in less than a minute whether everything runs.
"""

from typing import Any

from ml_collections import ConfigDict

from configs import Evaluate, Train, experiment, look_up


def paper() -> ConfigDict:
    return experiment(
        task="sudoku",
        data="data/sudoku.h5",
        model={
            "embedding_size": 16,
            "hidden_size": 96,
            "num_steps": 32,
            "evaluation_steps": 64,
            "relabel": False,
            "symmetries": False,
            "recompute": False,
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=256,
            num_updates=300_000,
            optimizer="adam",
            learning_rate=2e-4,
            l2=1e-4,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=256),
    )


def ours() -> ConfigDict:
    """What our own recipes share; boards are relabelled and turned at random."""
    config = paper()
    config.model.relabel = True
    config.model.symmetries = True
    config.train.warmup_updates = 100
    config.train.decay = "cosine"
    config.train.l2 = 0.0
    config.train.clip_norm = 1.0
    config.train.checkpoint_every_seconds = 60
    config.evaluate.batch_size = 64
    return config


def stage(steps: int, **train: Any) -> dict[str, Any]:
    return {"name": f"steps_{steps}", "options": {"num_steps": steps}, **train}


def cpu() -> ConfigDict:
    config = ours()
    config.model.num_steps = 8
    config.model.compute_dtype = "bfloat16"
    config.train.batch_size = 16
    config.train.num_updates = 0
    config.train.stages = (
        stage(8, num_updates=10_000, decay="constant"),
        stage(16, num_updates=5_000, decay="constant"),
        stage(32, num_updates=3_000, learning_rate=7e-4),
    )
    config.train.learning_rate = 1e-3
    config.train.evaluate_every_updates = 2_000
    config.train.validation_examples = 360
    config.evaluate.by_stage = False
    return config


def segments() -> ConfigDict:
    config = ours()
    config.model.num_steps = 8
    config.model.compute_dtype = "bfloat16"
    config.train.batch_size = 32
    config.train.num_updates = 10_000
    config.train.optimizer = "muon"
    config.train.muon_exclude = "embedding|readout"
    config.train.learning_rate = 1.5e-3
    config.train.average_decay = 0.998
    config.train.max_segments = 8
    config.train.leave_probability = 0.7
    config.train.error_share = 0.8
    config.train.evaluate_every_updates = 2_000
    config.train.validation_examples = 1_800  # of 360, chance would choose the weights
    return config


def quick() -> ConfigDict:
    config = segments()
    config.train.batch_size = 16
    config.train.num_updates = 0
    config.train.learning_rate = 3e-3
    config.train.max_segments = 3
    config.train.stages = (
        {"name": "fresh", "num_updates": 2_000, "max_segments": 1, "decay": "constant"},
        {"name": "carried", "num_updates": 5_000},
    )
    config.train.evaluate_every_updates = 1_000
    config.train.validation_examples = 360
    config.evaluate.examples = 3_600  # of 18,000, as many of each number of givens
    config.evaluate.by_stage = False
    return config


def gpu() -> ConfigDict:
    config = segments()
    config.train.batch_size = 512
    config.train.num_updates = 9_000
    config.train.learning_rate = 3e-3
    config.train.max_segments = 6
    config.train.error_share = 0.0
    config.train.evaluate_every_updates = 3_000
    config.evaluate.batch_size = 1_800
    config.variables.encoder_device = "tower"
    return config


def test() -> ConfigDict:
    config = ours()
    config.model.num_steps = 2
    config.model.evaluation_steps = 2
    config.model.compute_dtype = "bfloat16"
    config.train.batch_size = 8
    config.train.num_updates = 10
    config.train.learning_rate = 1e-3
    config.train.log_every_updates = 5
    config.train.evaluate_every_updates = 10
    config.train.validation_examples = 18
    config.train.checkpoint_every_updates = 5
    config.evaluate.examples = 18
    return config


RECIPES = {"": paper, "cpu": cpu, "segments": segments, "quick": quick, "gpu": gpu, "test": test}
get_config = look_up(RECIPES)
