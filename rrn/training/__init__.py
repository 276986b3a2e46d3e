"""Experiments from config to results; no task is named here."""

from rrn.training.program import run
from rrn.training.request import Request
from rrn.training.step import Trainer

__all__ = ["Request", "Trainer", "run"]
