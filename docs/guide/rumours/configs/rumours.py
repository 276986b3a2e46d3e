"""Rumours: who hears what person 0 has heard?

python -m data_prep rumours --out data/rumours.h5
python main.py --config configs/rumours.py
"""

from configs import Evaluate, Train, experiment, look_up


def rumours():
    return experiment(
        task="rumours",
        data="data/rumours.h5",
        model={"hidden_size": 32, "num_steps": 8, "compute_dtype": "float32"},
        train=Train(
            batch_size=64,
            num_updates=400,
            learning_rate=2e-3,
            clip_norm=1.0,
            evaluate_every_updates=200,
            checkpoint_every_updates=200,
        ),
        evaluate=Evaluate(batch_size=250),
    )


RECIPES = {"": rumours}  # a variant is another function, and another entry
get_config = look_up(RECIPES)
