"""Optimizers, learning rates, clipping and averaged weights.

optimizer.py   what every optimizer has: its variables, its slots, `apply`
adam.py        Adam, with TensorFlow 1's formula
rmsprop.py     RMSProp, with TensorFlow 1's formula
muon.py        Muon for matrices, with Adam for all other variables
schedules.py   the learning rate of each update: warm-up and decay
clipping.py    gradients scaled to a largest global norm
averages.py    moving averages of variables
"""

from rrn.optimizers.adam import Adam
from rrn.optimizers.averages import AveragedWeights
from rrn.optimizers.clipping import clip_by_global_norm
from rrn.optimizers.muon import Muon
from rrn.optimizers.optimizer import Optimizer
from rrn.optimizers.rmsprop import RMSProp
from rrn.optimizers.schedules import learning_rate

__all__ = [
    "Adam",
    "AveragedWeights",
    "Muon",
    "Optimizer",
    "RMSProp",
    "clip_by_global_norm",
    "learning_rate",
]
