"""Experiments from config to results; no task is named here.

Modules:
  request: what a run was asked for, one value that is checked once
  files: the files that a run begins with, each read and verified once
  start: what can be known is checked first, and only then TensorFlow loads
  train: the program that trains
  evaluate: the program that evaluates, and the one that follows a cluster's chief
  inspect: the program that lists variables and what towers have of their own
  identity: what a run is, which all of its parts hold
  setup: what the three share: a task with its variables in their places
  step: one update on one page
  state: what updates change: variables, averages, carried examples
  stages: which losses train which variables, and for how many updates
  segments: examples that stay for several updates, with their recurrent states
  machines: where a run's towers, variables and inputs are: one machine or a cluster
  worker_updates: updates of all devices together, of each by itself, or of the first ones
  evaluation: a task's outputs and results on a split
  checkpoints: the states of training on disk
  workdir: the folder of a run and its files
  progress: the lines that a run prints, metrics.jsonl, TensorBoard; how it is stopped
  profiling: a profile of some updates, for TensorBoard
  curves: the figures of a run's metrics over its updates
  provenance: how results were made: when, on what, with which program
  page: report.html: results, examples, figures, config and variables
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.training.request import Request
    from rrn.training.start import run
    from rrn.training.step import Trainer

__all__ = ["Request", "Trainer", "run"]
__getattr__ = lazy_names(__name__, __all__, ["request", "start", "step"])
