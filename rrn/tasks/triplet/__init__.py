"""Triplets: images are embedded so that those of the same digit are near each other."""

from rrn.tasks.triplet.network import SCHEMAS, Model
from rrn.tasks.triplet.report import TripletReport, create_report
from rrn.tasks.triplet.task import Triplet, create_task

__all__ = ["SCHEMAS", "Model", "Triplet", "TripletReport", "create_report", "create_task"]
