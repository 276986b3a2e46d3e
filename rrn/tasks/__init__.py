"""The tasks, a room or a file for each; `create_task` makes the one that a config names.

ages            age arithmetic
babi            questions about short stories
classification  digits, to measure how convolutional networks train on several machines
completion      image completion with discriminators
pretty_clevr    from object to nearest object
sudoku          Sudoku, and the command that solves puzzles

task.py         the base class of tasks, and the results that they give
reports.py      what the tasks' reports share

A task's module has `create_task(config, data)`, whose config is the experiment's `model`, and
`SCHEMAS`, the names and versions of schema of the prepared files that it takes.
"""

import importlib
import pkgutil

COMPUTE_DTYPES = "float32", "bfloat16"
NO_TASKS = {"reports", "task"}  # modules that tasks share


def create_task(config, data):
    """The task `config.task` (a module of `rrn.tasks`) on prepared data.

    config: the experiment's config; data: `rrn.data.PreparedData`.

    Raises:
      ValueError: no such task, a wrong compute_dtype, or data of another task.
    """
    tasks = sorted({module.name for module in pkgutil.iter_modules(__path__)} - NO_TASKS)
    if config.task not in tasks:
        raise ValueError(f"task must be one of {', '.join(tasks)}, got {config.task!r}")
    if config.model.compute_dtype not in COMPUTE_DTYPES:
        raise ValueError(
            f"model.compute_dtype must be one of {', '.join(COMPUTE_DTYPES)}, "
            f"got {config.model.compute_dtype!r}"
        )
    module = importlib.import_module(f"rrn.tasks.{config.task}")
    found = data.attributes.get("schema"), data.attributes.get("version")
    if found not in module.SCHEMAS:
        wanted = " or ".join(map(str, module.SCHEMAS))
        raise ValueError(
            f"{data.path}: schema and version are {found}, task {config.task} needs {wanted}"
        )
    return module.create_task(config.model, data)
