"""The tasks, a room or a file for each; `create_task` makes the one that a config names.

ages            age arithmetic
babi            questions about short stories
classification  digits, to measure how convolutional networks train on several machines
completion      image completion with discriminators
pretty_clevr    from object to nearest object
sudoku          Sudoku, and the command that solves puzzles
triplet         digits are embedded, those of the same digit near each other

task.py         the base class of tasks, and the results that they give
reports.py      what the tasks' reports share

settings.py in a room, or the task's module itself, has `Model`, what the experiment's `model` may
be, and `SCHEMAS`, the names and versions of schema of the prepared files that it takes. task.py has
`create_task(model, data)`. All three are names of the room.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rrn.config import ModelSettings
from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.data import PreparedData
    from rrn.tasks.reports import (
        accuracy_by_kind,
        accuracy_table,
        draw_accuracy,
        likeliest,
        message_strengths,
        one_of_each,
        results_by_step,
    )
    from rrn.tasks.task import Quantity, Results, Task

__all__ = [
    "Quantity",
    "Results",
    "Task",
    "accuracy_by_kind",
    "accuracy_table",
    "check_schema",
    "create_task",
    "draw_accuracy",
    "find_task",
    "likeliest",
    "message_strengths",
    "one_of_each",
    "results_by_step",
    "task_names",
]
__getattr__ = lazy_names(__name__, __all__, ["task", "reports"])

NO_TASKS = {"reports", "task"}  # modules that tasks share


def task_names() -> list[str]:
    """Lists all tasks.

    Returns:
      Their names, sorted.
    """
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - NO_TASKS)


def find_task(name: str) -> ModuleType:
    """Imports a task's room.

    Args:
      name: one of `task_names()`.

    Returns:
      The module.
    """
    return importlib.import_module(f"rrn.tasks.{name}")


def create_task(model: ModelSettings, data: "PreparedData") -> "Task":
    """Makes a task on prepared data.

    Args:
      model: the settings of the task's model.
      data: the data that the model is made on.

    Returns:
      The task, with new variables.

    Raises:
      ValueError: the data are another task's.
    """
    check_schema(model.TASK, data.path, data.attributes)
    return find_task(model.TASK).create_task(model, data)


def check_schema(task: str, path: str, attributes: Mapping[str, Any]) -> None:
    """Refuses a prepared file of another task.

    Args:
      task: the task's name.
      path: the file, for the message.
      attributes: the file's attributes.

    Raises:
      ValueError: the file's schema and version are not among the task's.
    """
    found = attributes.get("schema"), attributes.get("version")
    schemas = find_task(task).SCHEMAS
    if found not in schemas or type(found[1]) is not int:  # True is equal to 1
        wanted = " or ".join(map(str, schemas))
        raise ValueError(f"{path}: schema and version are {found}, task {task} needs {wanted}")
