"""Age arithmetic (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5
    python main.py --config configs/ages.py --devices 0,1,2,3

No published figures could be found.

Variants:
  quick  10,000 updates of 128 with 2 steps, at a learning rate of 1e-3 with warm-up and cosine
         decay, without dropout, in bfloat16; in training the ages of all people are asked for, too
         (`model.node_loss`).
  test   20 updates of 16 questions: whether everything runs, in less than a minute.
"""

import ml_collections

VARIANTS = "", "quick", "test"


def get_config(variant=""):
    if variant not in VARIANTS:
        raise ValueError(f"variants are {', '.join(VARIANTS[1:])}, got {variant!r}")
    config = ml_collections.ConfigDict()
    config.task = "ages"
    config.seed = 0
    config.data = ml_collections.ConfigDict({"path": "data/ages.h5"})
    config.model = ml_collections.ConfigDict(
        {
            "hidden_size": 128,
            "num_steps": 8,
            "readout_dropout": 0.5,
            "node_loss": 0.0,  # weight of the loss of all people's ages, in training
            "compute_dtype": "float32",
        }
    )
    config.train = ml_collections.ConfigDict(
        {
            "batch_size": 128,
            "num_updates": 10_000_000,
            "optimizer": "adam",
            "learning_rate": 1e-4,
            "warmup_updates": 0,
            "decay": "constant",
            "decay_rate": 1.0,  # of decay exponential, in every decay_updates
            "decay_updates": 0,
            "l2": 0.0,
            "clip_norm": 0.0,
            "average_decay": 0.0,
            "log_every_updates": 100,
            "evaluate_every_updates": 10_000,
            "validation_examples": 20_011,  # a prime, for all pairs of people; 0: all
            "checkpoint_every_updates": 10_000,
            "checkpoint_every_seconds": 300,
        }
    )
    config.evaluate = ml_collections.ConfigDict(
        {"path": "", "split": "test", "batch_size": 1024, "passes": 1}  # path: data.path if empty
    )
    config.variables = ml_collections.ConfigDict({"policy": "cpu"})
    if variant == "quick":
        config.model.num_steps = 2
        config.model.readout_dropout = 0.0
        config.model.node_loss = 1.0
        config.model.compute_dtype = "bfloat16"
        config.train.num_updates = 10_000
        config.train.learning_rate = 1e-3
        config.train.warmup_updates = 200
        config.train.decay = "cosine"
        config.train.clip_norm = 1.0
        config.train.evaluate_every_updates = 2_000
        config.train.checkpoint_every_seconds = 60
    if variant == "test":
        config.train.batch_size = 16
        config.train.num_updates = 20
        config.train.log_every_updates = 5
        config.train.evaluate_every_updates = 20
        config.train.validation_examples = 256
        config.train.checkpoint_every_updates = 10
    return config
