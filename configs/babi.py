"""bAbI, 20 tasks jointly, English, 10k (Palm et al. 2018, section 3.2; the final 15 runs).

    python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --supplement en --out data/babi.h5
    python main.py --config configs/babi.py --devices 0,1,2,3

Paper: mean error 0.46 ± 0.77 %, 0.13 ± 0.35 tasks failed over 15 runs, about a day on four GPUs.

Variants:
  hour       Muon, batch 128, learning rate 1.5e-3 with warm-up and cosine decay, clipping, no
             dropout, words' embeddings standard normal at the start, 24,000 updates: 9.8 % mean
             error on the test split, 4 tasks failed (one seed, weights of update 18,000), after 90
             minutes on 2 cores of a slow AMD EPYC without AVX-512, --devices cpu:2.
  quick      as hour, but 5,000 updates: 20.3 % mean error (one seed), 11 to 18 minutes.
  simulated  as hour, but trained on simulated stories alone, and tested on the real test files:
             9.6 % mean error, 4 tasks failed (one seed).
             python -m data_prep babi --source simulated --stories 20000 \
                 --out data/babi_simulated.h5
  frozen_encoders  Adam, batch 64, learning rate 1e-3, bfloat16 products, in two stages: 2,500
             updates of the network alone, its encoders fixed as they begin, then 5,000 of all:
             63.0 % mean error after the first, 48.2 % after both (one seed).
  test       20 updates of 16 questions: whether everything runs, in less than a minute.
"""

from configs import Evaluate, Train, check_variant, experiment, few_updates

VARIANTS = "", "hour", "quick", "simulated", "frozen_encoders", "test"


def get_config(variant=""):
    check_variant(variant, VARIANTS)
    config = experiment(
        task="babi",
        data="data/babi.h5",
        model={
            "embedding_size": 32,
            "encoding_size": 32,
            "hidden_size": 128,
            "max_facts": 20,
            "num_steps": 3,
            "readout_dropout": 0.5,
            "num_parts": 8,
            "normal_embeddings": False,  # initially, not Glorot's
            "node_loss": 0.0,  # weight of the loss of what facts tell of a subject, in training
            "compute_dtype": "float32",
        },
        train=Train(
            batch_size=512,
            num_updates=5_000_000,
            optimizer="adam",
            learning_rate=2e-4,
            l2=1e-5,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=512),
    )
    if variant in ("hour", "quick", "simulated", "frozen_encoders"):
        config.model.readout_dropout = 0.0
        config.model.num_parts = 6
        config.train.warmup_updates = 200
        config.train.decay = "cosine"
        config.train.clip_norm = 1.0
        config.train.checkpoint_every_seconds = 60
    if variant in ("hour", "quick", "simulated"):
        config.model.normal_embeddings = True
        config.train.batch_size = 128
        config.train.num_updates = 5_000 if variant == "quick" else 24_000
        config.train.evaluate_every_updates = 2_500 if variant == "quick" else 3_000
        config.train.learning_rate = 1.5e-3
        config.train.optimizer = "muon"
        config.train.muon_exclude = "^embedding|^readout/linear_2"  # words in, words out
    if variant == "simulated":
        config.data.path = "data/babi_simulated.h5"
        config.evaluate.path = "data/babi.h5"
        config.train.validation_examples = 20_000
    if variant == "frozen_encoders":
        config.model.compute_dtype = "bfloat16"
        config.train.batch_size = 64
        config.train.learning_rate = 1e-3
        config.train.stages = (
            {"name": "network", "num_updates": 2500, "modules": ("network",)},
            {"name": "all", "num_updates": 5000},
        )
        config.train.evaluate_every_updates = 3750
    if variant == "test":
        config.model.num_parts = 3
        few_updates(config)
    return config
