"""Rumours: who hears what person 0 has heard?

python -m data_prep rumours --out data/rumours.h5
python main.py --config configs/rumours.py
"""

from rrn.config import Data, Evaluate, Experiment, Train
from rrn.config_file import look_up
from rrn.tasks import rumours as task


def rumours():
    return Experiment(
        model=task.Model(),
        data=Data(path="data/rumours.h5"),
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
