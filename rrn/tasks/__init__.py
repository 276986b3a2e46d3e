"""One file per task; `create_task` makes the one a config names."""

import importlib


def create_task(config, data):
    """The task `config.task` (a module of `rrn.tasks`) on prepared data.

    config: the experiment's config; data: `rrn.data.PreparedData`.

    Raises:
      ValueError: the data is not the task's.
    """
    module = importlib.import_module(f"rrn.tasks.{config.task}")
    found = data.attributes.get("schema"), data.attributes.get("version")
    if found != module.SCHEMA:
        raise ValueError(
            f"{data.path}: schema and version are {found}, task {config.task} needs {module.SCHEMA}"
        )
    return module.create_task(config.model, data)
