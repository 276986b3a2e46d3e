"""Sudoku, 17 to 34 givens (Palm et al. 2018).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python main.py --config configs/sudoku.py --devices 0,1,2,3
    python main.py --config configs/sudoku.py --mode solve --puzzle FILE_OR_81_CHARACTERS

Paper: 94.1 % of the boards with 17 givens solved after 32 steps, 96.6 % after 64. Its batch is 64
on each device: `train.batch_size` is that of four. `--config.model.recompute=True` trades time for
memory.

Variants have batch 16, warm-up, gradients clipped at 1, no L2, boards relabelled and turned at
random:
  cpu    Adam at 1e-3, bfloat16 products, 10,000 updates of 8 steps, 5,000 of 16 and 3,000 of 32
         with cosine decay: 101 minutes of one core. Of 360 validation boards it solves 84.2 % after
         64 steps, of those with 17 givens 6 of 20 (one seed). `pretrained/sudoku.h5`.
  quick  Muon at 4e-3, 1,500 updates of 8 steps with cosine decay: 57.7 % of the test boards after
         16 steps (one seed), after 13 minutes on 2 cores of a slow AMD EPYC without AVX-512,
         --devices cpu:2, evaluation included.
  test   10 updates of 8 boards of 2 steps: whether everything runs, in less than a minute.
"""

from configs import Evaluate, Train, check_variant, experiment

VARIANTS = "", "cpu", "quick", "test"


def stage(steps, **train):
    return {"name": f"steps_{steps}", "options": {"num_steps": steps}, **train}


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
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
    if variant:
        config.model.num_steps = 8
        config.model.evaluation_steps = 32
        config.model.relabel = True
        config.model.symmetries = True
        config.model.compute_dtype = "bfloat16"
        config.train.batch_size = 16
        config.train.num_updates = 20_000
        config.train.learning_rate = 1e-3
        config.train.warmup_updates = 100
        config.train.decay = "cosine"
        config.train.l2 = 0.0
        config.train.clip_norm = 1.0
        config.train.evaluate_every_updates = 2_000
        config.train.validation_examples = 360
        config.train.checkpoint_every_seconds = 60
        config.evaluate.batch_size = 64
    if variant == "cpu":
        config.model.evaluation_steps = 64
        config.train.stages = (
            stage(8, num_updates=10_000, decay="constant"),
            stage(16, num_updates=5_000, decay="constant"),
            stage(32, num_updates=3_000, learning_rate=7e-4),
        )
        config.evaluate.by_stage = False
    if variant == "quick":
        config.model.evaluation_steps = 16
        config.model.compute_dtype = "float32"
        config.train.num_updates = 1_500
        config.train.optimizer = "muon"
        config.train.muon_exclude = "embedding|readout"  # digits in, digits out
        config.train.learning_rate = 4e-3
        config.train.evaluate_every_updates = 500
        config.train.validation_examples = 180
    if variant == "test":
        config.model.num_steps = 2
        config.model.evaluation_steps = 2
        config.train.batch_size = 8
        config.train.num_updates = 10
        config.train.log_every_updates = 5
        config.train.evaluate_every_updates = 10
        config.train.validation_examples = 18
        config.evaluate.examples = 18
        config.train.checkpoint_every_updates = 5
    return config
