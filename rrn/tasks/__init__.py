"""The tasks, a package or a file for each, and what they share.

A task is a file here, or a folder with a file task.py, that defines `create_task`; its first line
says what it is. No other place lists it. The package, or the file, has

    Model          the settings of its model
    SCHEMAS        names and versions of schema of the prepared files that it takes
    create_task    from the model's settings and the data to the task
    create_report  from the task to its report, if that is one of its own

A report knows its task, and a task knows no report.
"""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

# `python -m rrn.tasks.sudoku` imports this file first. TensorFlow's errors come as exceptions.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from rrn.config import ModelSettings
from rrn.data_prep.finding import find
from rrn.files.data import PreparedData
from rrn.tasks.report import AccuracyReport, Report, Results, results_by_step
from rrn.tasks.task import Task

__all__ = ["AccuracyReport", "Report", "Results", "Task", "results_by_step"]


def task_names() -> list[str]:
    """Lists the names of all tasks, sorted."""
    return list(find(Path(__file__).parent, "create_task", "task"))


def find_task(name: str) -> ModuleType:
    """Imports a task's package."""
    return importlib.import_module(f"rrn.tasks.{name}")


def create_task(model: ModelSettings, data: PreparedData) -> Task:
    """Makes a task with new variables, on data that `check_schema` takes."""
    check_schema(model.TASK, data.path, data.attributes)
    return find_task(model.TASK).create_task(model, data)


def create_report(task: Task) -> Report:
    """Makes the report of a task: its own, or the one with defaults."""
    return getattr(find_task(task.config.TASK), "create_report", Report)(task)


def check_schema(task: str, path: str, attributes: Mapping[str, Any]) -> None:
    """Refuses, with a ValueError, a prepared file whose schema or version is not the task's."""
    found = attributes.get("schema"), attributes.get("version")
    schemas = find_task(task).SCHEMAS
    if found not in schemas or type(found[1]) is not int:  # True is equal to 1
        wanted = " or ".join(map(str, schemas))
        raise ValueError(f"{path}: schema and version are {found}, task {task} needs {wanted}")
