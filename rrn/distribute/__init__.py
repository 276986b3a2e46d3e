"""Training on several devices and on several machines.

Modules:
  devices: names of the towers' devices from a flag; their memory
  towers: one tower: the losses of its own batch and their gradients, on its own device
  gradients: the average of the towers' gradients
  sharding: which parameter server holds which rows of which variable
  variables: variables created in their places, and the list that shows where they are
  inspection: the towers' own tensors as a table, an update's graph for TensorBoard
  cluster: a cluster: its processes' roles and addresses, and which of them answer
  processes: the processes of a cluster: how they start, connect, serve and fail
  listening: TensorFlow's servers on one address of the machine and no other
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
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
__getattr__ = lazy_names(
    __name__,
    __all__,
    ["cluster", "devices", "gradients", "processes", "towers", "variables"],
)
