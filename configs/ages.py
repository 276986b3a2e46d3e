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

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "quick", "test"


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="ages",
        data="data/ages.h5",
        model={
            "hidden_size": 128,
            "num_steps": 8,
            "readout_dropout": 0.5,
            "node_loss": 0.0,  # weight of the loss of all people's ages, in training
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=10_000_000,
            optimizer="adam",
            learning_rate=1e-4,
            l2=0.0,
            evaluate_every_updates=10_000,
            validation_examples=20_011,  # a prime, for all pairs of people
            checkpoint_every_updates=10_000,
        ),
        evaluate=Evaluate(batch_size=1024),
    )
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
        few_updates(config, validation_examples=256)
    return config
