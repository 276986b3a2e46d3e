"""Age arithmetic (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5
    python main.py --config configs/ages.py --devices 0,1,2,3

No published figures could be found.

Variants, all but test with a recipe of our own: batch 512, warm-up and cosine decay in every stage,
gradients clipped at 1, no dropout, bfloat16 products, initial kernels larger by 2**0.5 (which keeps
the variance of ReLU layers), and in training a loss of reading from each fact the ages of its two
people (`model.node_loss`). The stages grow the number of people:
  cpu    3, 5, then 8 people, with as many steps.
  quick  3, then 8 people, with 2 steps; 11 minutes of one core of an AMD EPYC: all validation
         questions of distance 0 are right, 4 % of distance 1, 2 to 3 % of the others.
  test   20 updates of 16 questions: whether everything runs, in less than a minute.
"""

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "cpu", "quick", "test"


def stage(people, steps, **train):
    return {
        "name": f"people_{people}",
        "options": {"num_people": people, "num_steps": steps},
        **train,
    }


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="ages",
        data="data/ages.h5",
        model={
            "hidden_size": 128,
            "num_steps": 8,
            "readout_dropout": 0.5,
            "initial_scale": 1.0,  # of the initial kernels
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
    if variant in ("cpu", "quick"):
        config.model.readout_dropout = 0.0
        config.model.initial_scale = 2**0.5
        config.model.node_loss = 1.0
        config.model.compute_dtype = "bfloat16"
        config.train.batch_size = 512
        config.train.learning_rate = 7e-4
        config.train.warmup_updates = 200
        config.train.decay = "cosine"
        config.train.clip_norm = 1.0
        config.train.evaluate_every_updates = 5_000
        config.train.checkpoint_every_seconds = 60
        config.evaluate.by_stage = False
    if variant == "cpu":
        config.train.stages = (
            stage(3, 3, num_updates=50_000),
            stage(5, 5, num_updates=10_000),
            stage(8, 8, num_updates=10_000),
        )
    if variant == "quick":
        config.model.num_steps = 2
        config.train.stages = (
            stage(3, 2, num_updates=8_000),
            stage(8, 2, num_updates=2_000),
        )
    if variant == "test":
        few_updates(config, validation_examples=256)
    return config
