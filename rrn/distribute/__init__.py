"""Training on several devices and on several machines."""

from rrn.distribute.cluster import Cluster
from rrn.distribute.devices import parse_devices, tune_cpu
from rrn.distribute.gradients import average_gradients
from rrn.distribute.towers import tower_gradients
from rrn.distribute.variables import plan_placement

__all__ = [
    "Cluster",
    "average_gradients",
    "parse_devices",
    "plan_placement",
    "tower_gradients",
    "tune_cpu",
]
