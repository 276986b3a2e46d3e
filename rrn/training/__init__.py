"""Experiments from config to results; no task is named here.

start.py           what can be known is checked first, and only then TensorFlow loads
experiment.py      one experiment: train, evaluate, follow a cluster, list the variables
stages.py          which losses train which variables, and for how many updates
trainer.py         one update on several devices, and many in one traced call
segments.py        examples that stay for several updates, with their recurrent states
sampling.py        examples drawn by the validation error of their group
machines.py        where a run's towers, variables and inputs are: one machine or a cluster
worker_updates.py  how a cluster's workers make updates without waiting for each other
evaluation.py      a task's outputs and results on a split
checkpoints.py     the states of training on disk
workdir.py         the folder of a run and its files
progress.py        the lines that a run prints, metrics.jsonl, TensorBoard; how it is stopped
curves.py          the figures of a run's metrics over its updates
page.py            report.html: results, examples, figures, config and variables
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.training.experiment import Experiment
    from rrn.training.start import run
    from rrn.training.trainer import Trainer

__all__ = ["Experiment", "Trainer", "run"]
__getattr__ = lazy_names(__name__, __all__, ["start", "experiment", "trainer"])
