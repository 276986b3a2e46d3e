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
  quick      3,800 updates of 512 questions and one step, with the loss of what facts tell, and with
             names that are exchanged in task 3; after 500 updates a part of each batch is drawn by
             the squares of the tasks' validation errors, and in the last 900 by the errors
             themselves: 3.18 to 3.60 % mean error with the seeds 0 to 2, 2 to 3 tasks failed, after
             5 minutes of 2 idle cores of an AMD EPYC with AVX-512 (Zen 5), or 10 to 12 of a shared
             core of an older one. With oneDNN limited to AVX2 it has 2.80 to 3.70 %, and 2 to 4
             tasks failed, after 8 minutes of these 2 cores.
  hour       11,300 updates, and the last 32 facts in place of the paper's 20. The loss of what
             facts tell ends after 4,800 updates. Names are exchanged in task 3, and in the last
             3,500 updates in all tasks: 0.19 ± 0.04 % mean error over the seeds 0 to 4, no task
             failed, after 29 to 30 minutes of one core (Zen 5). `pretrained/babi.h5`.
  small      As hour, on the archive's 1k files: 1.27 % mean error, 1 task failed, after 43 minutes
             of such a core. `pretrained/babi_small.h5`.
             python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --folder en-valid \
                 --out data/babi_1k.h5
  gpu        As hour, for one GPU. It has not been run to its end there.
  supplemented  As hour, with 9,000 simulated training questions for task 3. The earlier hour had
             0.38 % mean error, no task failed, after 51 minutes of such a core.
             python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --supplement simulated:3 \
                 --out data/babi_simulated_3.h5
  simulated  As hour, on as many simulated stories as are released. The earlier hour had 0.38 % mean
             error, no task failed, after 49 minutes of such a core. `pretrained/babi_simulated.h5`.
             python -m data_prep babi --source simulated --out data/babi_like_released.h5
  frozen_encoders  2,500 updates of the network alone, whose encoders stay as they began, then 5,000
             of all: 63.0 % mean error after the first stage, 48.2 % after both.
  test       20 updates of 16 questions, to see in less than a minute whether everything runs.

The earlier hour, that of commit 4f08364, had 47,000 updates of 128 questions and 20 facts, and
exchanged no names before the last 20,000 updates: 0.42 ± 0.08 % over the seeds 0, 1 and 2, after 43
to 47 minutes.
"""

from typing import Any

from rrn.config import (
    Constant,
    Cosine,
    Data,
    Evaluate,
    Experiment,
    MuonSettings,
    Stage,
    Train,
    replace,
)
from rrn.config_file import look_up, shorten
from rrn.tasks import babi

CONSTANT = Constant(warmup_updates=200)


def paper() -> Experiment:
    return Experiment(
        model=babi.Model(),
        data=Data(path="data/babi.h5"),
        train=Train(
            batch_size=512,
            num_updates=5_000_000,
            learning_rate=2e-4,
            l2=1e-5,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=512),
    )


def ours() -> Experiment:
    """What our own recipes share."""
    return replace(
        paper(),
        model={"readout_dropout": 0.0, "num_parts": 6},
        train={
            "schedule": Cosine(warmup_updates=200),
            "clip_norm": 1.0,
            "checkpoint_every_seconds": 60,
        },
    )


def plain() -> Experiment:
    return replace(
        ours(),
        model={"normal_embeddings": True},
        train={
            "batch_size": 128,
            "num_updates": 24_000,
            "optimizer": MuonSettings(
                exclude="^embedding|^readout/linear_2"
            ),  # words in, words out
            "learning_rate": 1.5e-3,
            "evaluate_every_updates": 3_000,
        },
    )


def told() -> Experiment:
    """What the recipes share that learn what facts tell, and draw by error."""
    return replace(
        plain(),
        model={"auxiliary_loss": 0.2},
        train={
            "ema_decay": 0.998,
            "error_share": 0.5,
            "evaluate_every_updates": 1_000,
            "validation_examples": 4_000,
        },
    )


def told_from(stage: Stage, facts: int, **fields: Any) -> Stage:
    """A stage in which the loss "auxiliary" is about at most `facts` facts of each story."""
    options = {**stage.options, "auxiliary_facts": facts}
    return replace(stage, name=f"facts_{facts}", options=options, schedule=CONSTANT, **fields)


def quick() -> Experiment:
    """Names are kept but in task 3, whose 925 questions would be learned by heart."""
    config = replace(
        told(),
        model={"num_steps": 1, "augment": True, "compute_dtype": "auto"},
        train={
            "batch_size": 512,
            "learning_rate": 3e-3,
            "ema_decay": 0.995,
            "evaluate_every_updates": 500,
        },
        evaluate={"by_stage": False},
    )
    (stage,) = replace(config, train={"error_share": 0.0}).train.stages
    few, more = (
        replace(stage, options={"augment_below": 5_000, "max_facts": most}) for most in (12, 16)
    )
    stages = (
        told_from(few, 3, num_updates=500),
        replace(
            more,
            name="stories",
            num_updates=2_400,
            schedule=CONSTANT,
            error_share=0.6,
            error_power=2.0,
        ),
        replace(
            more,
            name="falling",
            num_updates=900,
            schedule=Cosine(warmup_updates=50),
            error_share=0.8,
        ),
    )
    return replace(config, train={"stages": stages})


def hour() -> Experiment:
    config = replace(
        quick(),
        # Task 3 asks for more than the paper's last 20 facts in 3.5 % of its validation questions.
        model={"max_facts": 32, "num_parts": 8},
        train={"evaluate_every_updates": 1_000},
        evaluate={"passes": 8},
    )
    first, *_ = config.train.stages
    stage = replace(
        first,
        options={"augment_below": 5_000, "max_facts": 24},
        learning_rate=1.5e-3,
        error_share=0.5,
    )
    untold = {"auxiliary": False}
    answers = ("encoder", "network.rrn", "network.readout")
    stages = (
        told_from(stage, 3, num_updates=1_500, error_share=0.0),
        told_from(stage, 5, num_updates=1_000),
        replace(stage, name="stories", num_updates=2_300, schedule=CONSTANT),
        replace(
            stage,
            name="answers",
            num_updates=3_000,
            options=stage.options | untold,
            schedule=CONSTANT,
            modules=answers,
            error_share=0.8,
        ),
        replace(
            stage,
            name="exchanged",  # in all tasks
            num_updates=3_500,
            options=untold,
            schedule=Cosine(warmup_updates=200),
            modules=answers,
        ),
    )
    return replace(config, train={"stages": stages})


def small() -> Experiment:
    """All tasks have few questions here, so names are exchanged in all from the start."""
    return replace(hour(), data={"path": "data/babi_1k.h5"})


def gpu() -> Experiment:
    return replace(hour(), evaluate={"batch_size": 2_000}, variables={"encoder_device": "tower"})


def supplemented() -> Experiment:
    return replace(hour(), data={"path": "data/babi_simulated_3.h5"})


def simulated() -> Experiment:
    path = "data/babi_like_released.h5"
    return replace(hour(), data={"path": path}, evaluate={"path": "data/babi.h5"})


def frozen_encoders() -> Experiment:
    config = replace(
        ours(),
        model={"compute_dtype": "auto"},
        train={"batch_size": 64, "learning_rate": 1e-3, "evaluate_every_updates": 3_750},
    )
    (stage,) = config.train.stages
    stages = (
        replace(stage, name="network", num_updates=2_500, modules=("network",)),
        replace(stage, name="all", num_updates=5_000),
    )
    return replace(config, train={"stages": stages})


def test() -> Experiment:
    return shorten(replace(paper(), model={"num_parts": 3}))


RECIPES = {
    "": paper,
    "plain": plain,
    "quick": quick,
    "hour": hour,
    "small": small,
    "gpu": gpu,
    "supplemented": supplemented,
    "simulated": simulated,
    "frozen_encoders": frozen_encoders,
    "test": test,
}
get_config = look_up(RECIPES)
