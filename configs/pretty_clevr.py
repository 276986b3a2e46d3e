"""Pretty-CLEVR (Palm et al. 2018).

    python -m data_prep pretty_clevr --out data/pretty_clevr.h5
    python main.py --config configs/pretty_clevr.py --devices 0,1,2,3

Paper, read off its plot: 100 100 99 98 94 86 84 84 % right at 0 to 7 jumps, up to 10 M updates.

Variants, all but test with a recipe of our own: batch 256, learning rate 1e-3 with warm-up and
cosine decay, gradients clipped at 1, no dropout, bfloat16 products, and in training a loss of
finding the answer's object among the eight (`model.node_loss`), which adds 128 parameters:
  cpu               240,000 updates.
  quick             10,000 updates.
  relation_network  the paper's baseline: one step; 60,000 updates.
  mlp               the paper's other baseline, without node_loss: it has no nodes. Muon, batch 512:
                    5,000 updates of 0 jumps, 75,000 of 0 and 1, 160,000 of all.
  test              20 updates of 16 questions: whether everything runs, in less than a minute.
"""

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "cpu", "quick", "relation_network", "mlp", "test"


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="pretty_clevr",
        data="data/pretty_clevr.h5",
        model={
            "network": "recurrent",
            "hidden_size": 128,
            "num_steps": 4,
            "readout_dropout": 0.5,
            "node_loss": 0.0,  # weight of the loss of finding the answer's object, in training
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=128,
            num_updates=10_000_000,
            optimizer="adam",
            learning_rate=1e-4,
            l2=0.0,
            evaluate_every_updates=10_000,
            checkpoint_every_updates=10_000,
        ),
        evaluate=Evaluate(batch_size=1024),
    )
    if variant in ("cpu", "quick", "relation_network", "mlp"):
        config.model.readout_dropout = 0.0
        config.model.node_loss = 1.0
        config.model.compute_dtype = "bfloat16"
        config.train.batch_size = 256
        config.train.num_updates = 60_000
        config.train.learning_rate = 1e-3
        config.train.warmup_updates = 200
        config.train.decay = "cosine"
        config.train.clip_norm = 1.0
        config.train.evaluate_every_updates = 5_000
        config.train.validation_examples = 10_000
        config.train.checkpoint_every_seconds = 60
    if variant == "cpu":
        config.train.num_updates = 240_000
        config.train.evaluate_every_updates = 20_000
    if variant == "quick":
        config.train.num_updates = 10_000
    if variant == "relation_network":
        config.model.num_steps = 1
    if variant == "mlp":
        config.model.network = "mlp"
        config.model.hidden_size = 256
        config.model.node_loss = 0.0
        config.train.batch_size = 512
        config.train.optimizer = "muon"
        config.train.evaluate_every_updates = 20_000
        config.train.stages = tuple(
            {"name": f"jumps_{n}", "options": {"num_jumps": n}, "num_updates": updates}
            for n, updates in ((1, 5_000), (2, 75_000), (8, 160_000))
        )
        config.evaluate.by_stage = False
    if variant == "test":
        few_updates(config, examples=250)
    return config
