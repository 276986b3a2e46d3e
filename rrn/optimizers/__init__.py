"""Optimizers, learning rates, clipping and averaged weights.

Modules:
  optimizer: what every optimizer has: its variables, its slots, `apply`
  adam: Adam, with TensorFlow 1's formula
  rmsprop: RMSProp, with TensorFlow 1's formula
  muon: Muon for matrices, with Adam for all other variables
  schedules: the learning rate of each update: warm-up and decay
  clipping: gradients scaled to a largest global norm
  moving_averages: moving averages of variables
"""

from rrn.optimizers.adam import Adam
from rrn.optimizers.clipping import clip_by_global_norm
from rrn.optimizers.moving_averages import MovingAverages
from rrn.optimizers.muon import Muon
from rrn.optimizers.optimizer import Optimizer
from rrn.optimizers.rmsprop import RMSProp
from rrn.optimizers.schedules import learning_rate

__all__ = [
    "Adam",
    "MovingAverages",
    "Muon",
    "Optimizer",
    "RMSProp",
    "clip_by_global_norm",
    "learning_rate",
]
