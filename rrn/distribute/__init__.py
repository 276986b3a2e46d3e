"""Training on several devices and on several machines."""

from rrn.distribute.cluster import Cluster, find_cluster
from rrn.distribute.devices import cpu_beside, parse_devices, tune_cpu
from rrn.distribute.gradients import average_gradients
from rrn.distribute.processes import connect, running, serve
from rrn.distribute.towers import TowerResult, tower_gradients
from rrn.distribute.variables import Placement, format_variables, list_variables, plan_placement

__all__ = [
    "Cluster",
    "Placement",
    "TowerResult",
    "average_gradients",
    "connect",
    "cpu_beside",
    "find_cluster",
    "format_variables",
    "list_variables",
    "parse_devices",
    "plan_placement",
    "running",
    "serve",
    "tower_gradients",
    "tune_cpu",
]
