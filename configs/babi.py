"""bAbI, 20 tasks jointly, English, 10k (Palm et al. 2018, section 3.2; the final 15 runs).

    python -m data_prep babi --supplement en --out data/babi.h5
    python main.py --config configs/babi.py:VARIANT

The paper: mean error 0.46 ± 0.77 %, 0.13 ± 0.35 tasks failed over 15 runs of up to 5 million
updates. Its batch has 512 questions on each device; how many devices is not known.

    VARIANT    mean error, tasks failed           time, hardware
               the paper's settings               not run to their end here
    quick      1.5 ± 0.4 %, 0 to 2 (3 seeds)      7 minutes, 2 cores
    hour       0.19 ± 0.04 %, 0 (5 seeds)         30 minutes, 1 core (Zen 5); pretrained/babi.h5
    small      0.27 ± 0.03 %, 0 (3; the 1k files) 64 to 72 minutes, 1 shared core; babi_small.h5
    gpu        hour for one GPU                   not run to its end here
    simulated  0.22 ± 0.02 %, 0 (3 seeds)         52 to 64 minutes, 1 shared core; babi_simulated.h5
    test       20 updates                         less than a minute

    python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --folder en-valid \
        --out data/babi_1k.h5                                                         (small)
    python -m data_prep babi --source simulated --out data/babi_like_released.h5  (simulated)
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
            batch_size=2_048,  # 512 on each of four devices
            num_updates=5_000_000,
            learning_rate=2e-4,
            l2=1e-5,
            evaluate_every_updates=5_000,
            checkpoint_every_updates=5_000,
        ),
        evaluate=Evaluate(batch_size=512),
    )


def facts(stage: Stage, most: int, **fields: Any) -> Stage:
    """A stage in which the loss "auxiliary" is about at most `most` facts of each story."""
    options = {**stage.options, "auxiliary_facts": most}
    return replace(stage, name=f"facts_{most}", options=options, schedule=CONSTANT, **fields)


def quick() -> Experiment:
    """At first names are permuted in task 3 alone, whose 925 questions would be memorized.

    Drawn like the others, task 17 stays at 39 % for thousands of updates. With a third of each
    batch it is memorized, and permuted names in the last stage bring it from 6 to 0 %. Its
    questions are cheap: its stories have two facts.
    """
    config = replace(
        paper(),
        model={
            "readout_dropout": 0.0,
            "num_hidden_layers": 2,
            "num_parts": 6,
            "num_steps": 1,
            "normal_embeddings": True,
            "auxiliary_loss": 0.2,
            "augment": True,
            "compute_dtype": "auto",
        },
        train={
            "batch_size": 768,
            # Words in, words out.
            "optimizer": MuonSettings(exclude="^embedding|^readout/linear_2"),
            "learning_rate": 3e-3,
            "schedule": Cosine(warmup_updates=200),
            "clip_norm": 1.0,
            "ema_decay": 0.98,
            "error_share": 0.5,
            "evaluate_every_updates": 500,
            "validation_examples": 4_000,
            "checkpoint_every_seconds": 60,
        },
        evaluate={"by_stage": False, "passes": 4},
    )
    (stage,) = replace(config, train={"error_share": 0.0}).train.stages
    stage = replace(stage, group_shares={17: 0.33}, error_power=4.0)
    few, more = (
        replace(stage, options={"augment_below": 5_000, "max_facts": most}) for most in (12, 16)
    )
    stages = (
        facts(few, 3, num_updates=500),
        replace(more, name="stories", num_updates=2_000, schedule=CONSTANT, error_share=0.7),
        replace(
            more,
            name="falling",
            num_updates=800,
            options={"max_facts": 16},
            group_shares={17: 0.1},
            schedule=Cosine(warmup_updates=50),
            error_share=0.8,
            error_power=2.0,
        ),
    )
    return replace(config, train={"stages": stages})


def hour() -> Experiment:
    config = replace(
        quick(),
        # Task 3 asks for more than the paper's last 20 facts in 3.5 % of its validation questions.
        model={"max_facts": 32, "num_hidden_layers": 3, "num_parts": 8},
        train={"batch_size": 512, "ema_decay": 0.995, "evaluate_every_updates": 1_000},
        evaluate={"passes": 8},
    )
    first, *_ = config.train.stages
    stage = replace(
        first,
        options={"augment_below": 5_000, "max_facts": 24},
        learning_rate=1.5e-3,
        error_share=0.5,
        error_power=1.0,
        group_shares={},
    )
    no_auxiliary = {"auxiliary": False}
    answers = ("encoder", "network.rrn", "network.readout")
    stages = (
        facts(stage, 3, num_updates=1_500, error_share=0.0),
        facts(stage, 5, num_updates=1_000),
        replace(stage, name="stories", num_updates=2_300, schedule=CONSTANT),
        replace(
            stage,
            name="answers",
            num_updates=3_000,
            options=stage.options | no_auxiliary,
            schedule=CONSTANT,
            modules=answers,
            error_share=0.8,
        ),
        replace(
            stage,
            name="exchanged",  # names are permuted in all tasks
            num_updates=3_500,
            options=no_auxiliary,
            schedule=Cosine(warmup_updates=200),
            modules=answers,
        ),
    )
    return replace(config, train={"stages": stages})


def small() -> Experiment:
    """All tasks have few questions here, so names are permuted in all after the first stage.

    With permuted names from the start, 38 % of task 17 stay wrong. The first stage memorizes it
    with the names of the files; after that it is soon learned with permuted names, too.
    """
    config = replace(hour(), data={"path": "data/babi_1k.h5"})
    facts_3, *others = config.train.stages
    memorized = replace(
        facts_3,
        name="memorized",
        num_updates=700,
        options=facts_3.options | {"augment_below": 0},
        group_shares={17: 0.95},
    )
    stages = (memorized, replace(facts_3, group_shares={17: 0.33}), *others)
    return replace(config, train={"stages": stages})


def gpu() -> Experiment:
    return replace(hour(), evaluate={"batch_size": 2_000}, variables={"encoder_device": "tower"})


def simulated() -> Experiment:
    path = "data/babi_like_released.h5"
    return replace(hour(), data={"path": path}, evaluate={"path": "data/babi.h5"})


def test() -> Experiment:
    return shorten(replace(paper(), model={"num_parts": 3}))


RECIPES = {
    "": paper,
    "quick": quick,
    "hour": hour,
    "small": small,
    "gpu": gpu,
    "simulated": simulated,
    "test": test,
}
get_config = look_up(RECIPES)
