"""One room per task; `create_task` makes the one a config names.

A task's module has `create_task(config, data)` and `SCHEMAS`, the names and versions of schema of
the prepared files that it takes.
"""

import importlib
import pkgutil

COMPUTE_DTYPES = "float32", "bfloat16"


def create_task(config, data):
    """The task `config.task` (a module of `rrn.tasks`) on prepared data.

    config: the experiment's config; data: `rrn.data.PreparedData`.

    Raises:
      ValueError: no such task, a wrong compute_dtype, or data of another task.
    """
    tasks = sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"task", "reports"})
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
