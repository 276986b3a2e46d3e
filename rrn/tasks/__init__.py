"""The tasks, a room or a file for each, and what they share.

Modules:
  task: the base class of tasks: inputs, model, loss
  report: the base class of reports: results, table, figures, examples
  inputs: from a split's arrays to one input pipeline for each device
  checks: what `predict` is given, compared with what a task declares
  examples: what the examples of several reports are made of

A task is a file here, or a folder with a file task.py, that defines `create_task`; its first line
says what it is. No other place lists it. A room, or the file, has

    Model          the settings of its model, and the options that stages may give
    SCHEMAS        names and versions of schema of the prepared files that it takes
    create_task    from the model's settings and the data to the task
    create_report  from the task to its report, if that is one of its own

in a room settings.py, task.py and report.py. A report knows its task, and a task knows no report.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from rrn.data_prep.finding import find
from rrn.lazy import lazy_names

if TYPE_CHECKING:  # so that commands hear Ctrl-C early, too
    from rrn.config import ModelSettings
    from rrn.files.data import PreparedData
    from rrn.tasks.examples import likeliest, message_strengths, one_of_each
    from rrn.tasks.report import (
        Quantity,
        Report,
        Results,
        accuracy_by_kind,
        accuracy_table,
        draw_accuracy,
        results_by_step,
    )
    from rrn.tasks.task import Task

__all__ = [
    "Quantity",
    "Report",
    "Results",
    "Task",
    "accuracy_by_kind",
    "accuracy_table",
    "check_schema",
    "create_report",
    "create_task",
    "draw_accuracy",
    "find_report",
    "find_task",
    "likeliest",
    "message_strengths",
    "one_of_each",
    "results_by_step",
    "task_names",
]
__getattr__ = lazy_names(__name__, __all__, ["task", "report", "examples"])


def task_names() -> list[str]:
    """Lists the names of all tasks, sorted."""
    return list(find(Path(__file__).parent, "create_task", "task"))


def find_task(name: str) -> ModuleType:
    """Imports a task's room."""
    return importlib.import_module(f"rrn.tasks.{name}")


def create_task(model: "ModelSettings", data: "PreparedData") -> "Task":
    """Makes a task with new variables, on prepared data.

    Raises:
      ValueError: the data are another task's.
    """
    check_schema(model.TASK, data.path, data.attributes)
    return find_task(model.TASK).create_task(model, data)


def create_report(task: "Task") -> "Report":
    """Makes the report of a task: that of its room, or the one with defaults."""
    from rrn.tasks.report import Report

    return getattr(find_task(task.config.TASK), "create_report", Report)(task)


def find_report(task: str) -> "Report":
    """Makes a report that has no task, and says what metrics and groups are called.

    Args:
      task: the task's name.

    Raises:
      ValueError: there is no such task.
    """
    from rrn.tasks.report import Report

    if task not in task_names():
        raise ValueError(f"task is {task!r}; expected one of {', '.join(task_names())}")
    return getattr(find_task(task), "create_report", Report)(cast("Task", None))


def check_schema(task: str, path: str, attributes: Mapping[str, Any]) -> None:
    """Refuses, with a ValueError, a prepared file whose schema or version is not the task's."""
    found = attributes.get("schema"), attributes.get("version")
    schemas = find_task(task).SCHEMAS
    if found not in schemas or type(found[1]) is not int:  # True is equal to 1
        wanted = " or ".join(map(str, schemas))
        raise ValueError(f"{path}: schema and version are {found}, task {task} needs {wanted}")
