"""Age arithmetic (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5
    python main.py --config configs/ages.py --devices 0,1,2,3

No published figures could be found.

Variants, all but test with a recipe of our own: Muon, batch 256, warm-up in every stage and cosine
decay in the last, gradients clipped at 1, no dropout, in training a loss of reading from each fact
the ages of its two people (`model.node_loss`), and sinusoids of few frequencies as the initial
weights of years and ages (`model.sinusoids`). The stages grow the number of people:
  cpu    3, 5, then 8 people, with as many steps; with 8 the rate falls to zero twice.
  quick  3, 5, then 8 people, with 4 steps at most: 20 minutes of 2 cores (100, 100, 99.4, 63.1 and
         14.5 % of validation questions at distances 0 to 4, one seed).
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
            "node_loss": 0.0,  # weight of the loss of all people's ages, in training
            "sinusoids": False,  # initially in the weights of years and ages
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=10_000_000,
            optimizer="adam",
            learning_rate=1e-4,
            l2=0.0,
            evaluate_every_updates=10_000,
            validation_examples=20_000,
            checkpoint_every_updates=10_000,
        ),
        evaluate=Evaluate(batch_size=1024),
    )
    if variant in ("cpu", "quick"):
        config.model.readout_dropout = 0.0
        config.model.node_loss = 1.0
        config.model.sinusoids = True
        config.train.batch_size = 256
        config.train.optimizer = "muon"
        # one-hots in, classes out
        config.train.muon_exclude = "^input_fn/linear_0|^readout/linear_3|^node_readout/linear_2"
        config.train.learning_rate = 3e-3
        config.train.warmup_updates = 200
        config.train.clip_norm = 1.0
        config.train.evaluate_every_updates = 6_500
        config.train.checkpoint_every_seconds = 60
        config.evaluate.by_stage = False
        config.evaluate.examples = 200_000  # of 1.7 million
    if variant == "cpu":
        config.train.stages = (
            stage(3, 3, num_updates=3_000),
            stage(5, 5, num_updates=4_500, learning_rate=2e-3),
            stage(8, 8, num_updates=5_500, learning_rate=1e-3, decay="cosine"),
            stage(8, 8, name="people_8_on", num_updates=6_000, learning_rate=7e-4, decay="cosine"),
        )
    if variant == "quick":
        config.model.num_steps = 4
        config.evaluate.examples = 20_000
        config.train.stages = (
            stage(3, 3, num_updates=3_000),
            stage(5, 4, num_updates=1_500, learning_rate=2e-3),
            stage(8, 4, num_updates=1_000, learning_rate=1e-3, decay="cosine"),
        )
    if variant == "test":
        few_updates(config, examples=256)
    return config
