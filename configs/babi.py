"""bAbI, 20 tasks jointly, English, 10k (Palm et al. 2018, section 3.2; the final 15 runs).

    python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --supplement en --out data/babi.h5
    python main.py --config configs/babi.py --devices 0,1,2,3

The paper: mean error 0.46 ± 0.77 %, 0.13 ± 0.35 tasks failed over 15 runs, up to 5 million updates.
On how many GPUs and how long these runs took is not known. Their batch is 512 questions on each
device; `train.batch_size` is that of all devices together. These settings have not been run to
their end here.

Variants; each result is of one seed if it does not say otherwise, on the released test files:
  plain      24,000 updates with Muon: 9.8 % mean error, 4 tasks failed (weights of update 18,000),
             after 90 minutes on 2 cores of a slow AMD EPYC without AVX-512, --devices cpu:2.
  quick      11,000 updates of one step, with the loss of what facts tell, with names that are
             exchanged, and after 4,000 updates half of each batch drawn by the tasks' validation
             errors: 7.2 % mean error, 4 tasks failed, after 10 minutes of one core with AVX-512,
             beside other work.
  hour       As quick, for 47,000 updates with bfloat16 products. The loss of what facts tell ends
             after 14,000 updates, and names are exchanged in the last 20,000 alone: 0.42 ± 0.08 %
             mean error over the seeds 0, 1 and 2, no task failed, after 43 to 47 minutes of such a
             core.
  gpu    As hour, with 16,000 updates of 512 questions, for a GPU. It has been run on one such core,
         --devices cpu: 0.26 % mean error, no task failed, after 80 minutes, beside other work.
         `pretrained/babi.h5`.
  supplemented  As hour, with 9,000 simulated training questions for task 3: 0.38 % mean error, no
             task failed, after 51 minutes of such a core.
             python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --supplement simulated:3 \
                 --out data/babi_simulated_3.h5
  simulated  As hour, on as many simulated stories as are released: 0.38 % mean error, no task
             failed, after 49 minutes of such a core. `pretrained/babi_simulated.h5`.
             python -m data_prep babi --source simulated --out data/babi_like_released.h5
  frozen_encoders  2,500 updates of the network alone, whose encoders stay as they began, then 5,000
             of all: 63.0 % mean error after the first stage, 48.2 % after both.
  test       20 updates of 16 questions, to see in less than a minute whether everything runs.
"""

from typing import Any

from ml_collections import ConfigDict

from configs import Evaluate, Train, experiment, look_up, shorten


def paper() -> ConfigDict:
    return experiment(
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
            "node_loss": 0.0,  # weight of the loss of what facts tell of topics, in training
            "relabel": False,  # phrases that play the same part exchange places, in training
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


def ours() -> ConfigDict:
    """What our own recipes share."""
    config = paper()
    config.model.readout_dropout = 0.0
    config.model.num_parts = 6
    config.train.warmup_updates = 200
    config.train.decay = "cosine"
    config.train.clip_norm = 1.0
    config.train.checkpoint_every_seconds = 60
    return config


def plain() -> ConfigDict:
    config = ours()
    config.model.normal_embeddings = True
    config.train.batch_size = 128
    config.train.num_updates = 24_000
    config.train.optimizer = "muon"
    config.train.muon_exclude = "^embedding|^readout/linear_2"  # words in, words out
    config.train.learning_rate = 1.5e-3
    config.train.evaluate_every_updates = 3_000
    return config


def told() -> ConfigDict:
    """What the recipes share that learn what facts tell, and draw by error."""
    config = plain()
    config.model.node_loss = 0.2
    config.train.average_decay = 0.998
    config.train.error_share = 0.5
    config.train.evaluate_every_updates = 1_000
    config.train.validation_examples = 4_000
    return config


def told_from(facts: int, keep_names: bool = False, **train: Any) -> dict[str, Any]:
    """A stage in which the loss "told" is about at most `facts` facts of each story."""
    options = {"told_facts": facts, "keep_names": keep_names}
    return {"name": f"facts_{facts}", "options": options, "decay": "constant", **train}


def quick() -> ConfigDict:
    config = told()
    config.model.num_steps = 1
    config.model.relabel = True
    config.train.num_updates = 0
    config.train.stages = (
        told_from(3, num_updates=4_000, error_share=0.0),
        {"name": "stories", "num_updates": 7_000},
    )
    config.evaluate.by_stage = False
    return config


def hour() -> ConfigDict:
    config = quick()
    config.model.compute_dtype = "bfloat16"
    config.train.learning_rate = 1e-3
    first = {"learning_rate": 1.5e-3, "error_share": 0.0}
    constant = {"decay": "constant"}
    kept, untold = {"keep_names": True}, {"told": False}
    answers = {"modules": ("encoder", "network.rrn", "network.readout")}
    config.train.stages = (
        told_from(3, keep_names=True, num_updates=4_000, **first),
        told_from(5, keep_names=True, num_updates=2_000),
        {"name": "stories", "num_updates": 8_000, "options": kept, **constant},
        {
            "name": "answers",
            "num_updates": 13_000,
            "options": kept | untold,
            **constant,
            **answers,
            "error_share": 0.8,
        },
        {"name": "exchanged", "num_updates": 20_000, "options": untold, **answers},
    )
    config.evaluate.passes = 8
    return config


def gpu() -> ConfigDict:
    """As hour, with four times its questions in an update, and a third of its updates."""
    config = hour()
    config.train.batch_size = 512
    config.train.learning_rate = 1.5e-3
    config.train.average_decay = 0.995
    config.train.stages = tuple(
        {**stage, "num_updates": updates}
        for stage, updates in zip(
            config.train.stages, (1_500, 1_000, 3_000, 4_000, 6_500), strict=True
        )
    )
    config.evaluate.batch_size = 2_000
    config.variables.encoder_device = "tower"
    return config


def supplemented() -> ConfigDict:
    config = hour()
    config.data.path = "data/babi_simulated_3.h5"
    return config


def simulated() -> ConfigDict:
    config = hour()
    config.data.path = "data/babi_like_released.h5"
    config.evaluate.path = "data/babi.h5"
    return config


def frozen_encoders() -> ConfigDict:
    config = ours()
    config.model.compute_dtype = "bfloat16"
    config.train.batch_size = 64
    config.train.num_updates = 0
    config.train.stages = (
        {"name": "network", "num_updates": 2_500, "modules": ("network",)},
        {"name": "all", "num_updates": 5_000},
    )
    config.train.learning_rate = 1e-3
    config.train.evaluate_every_updates = 3_750
    return config


def test() -> ConfigDict:
    config = paper()
    config.model.num_parts = 3
    shorten(config)
    return config


RECIPES = {
    "": paper,
    "plain": plain,
    "quick": quick,
    "hour": hour,
    "gpu": gpu,
    "supplemented": supplemented,
    "simulated": simulated,
    "frozen_encoders": frozen_encoders,
    "test": test,
}
get_config = look_up(RECIPES)
