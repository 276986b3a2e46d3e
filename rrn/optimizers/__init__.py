"""Optimizers, learning rates, clipping and EMA weights."""

from rrn.optimizers.moving_averages import MovingAverages
from rrn.optimizers.muon import Muon
from rrn.optimizers.optimizer import Optimizer, clip_by_global_norm
from rrn.optimizers.schedules import learning_rate
from rrn.optimizers.tensorflow1 import Adam, RMSProp

__all__ = [
    "Adam",
    "MovingAverages",
    "Muon",
    "Optimizer",
    "RMSProp",
    "clip_by_global_norm",
    "learning_rate",
]
