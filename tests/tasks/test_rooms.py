"""Tasks are added by being there; what a room gives, and what its task declares."""

import inspect
import os
import shutil
import subprocess
import sys

import pytest

from rrn.config import replace
from rrn.tasks import Report, Task, find_task, task_names
from tests.helpers import ROOT, load_config

NAMES = ["ages", "babi", "classification", "completion", "pretty_clevr", "sudoku", "triplet"]
OWN_ARGUMENTS = {  # what every task's method takes
    "loss": {"self", "encodings", "batch", "random", "training", "state"},
    "make_batch": {"self", "arrays", "examples", "random", "training"},
}
# A task in a file, one in a folder, and what tasks share: the two words are in its text, too.
ADDED = {
    "letters.py": "SCHEMAS = ()\n\n\ndef create_task(model, data):\n    return 1\n",
    "runes/__init__.py": "",
    "runes/task.py": "class Runes:\n    pass\n\n\ncreate_task = Runes\n",
    "spelling.py": '"""What create_task of letters and runes calls."""\n\nimport tensorflow\n',
    "scripts/__init__.py": "def create_task():\n    pass\n",
    "scripts/latin.py": "",
}
SHOW = "import sys, rrn.tasks; print(*rrn.tasks.task_names(), 'tensorflow' in sys.modules)"


def test_those_that_there_are():
    assert task_names() == NAMES


@pytest.mark.timeout(60)
def test_a_new_task_is_found_and_a_new_module_that_tasks_share_is_none(tmp_path):
    for name in "rrn", "data_prep":
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name, text in ADDED.items():
        path = tmp_path / "rrn" / "tasks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", SHOW]
    said = subprocess.check_output(command, cwd=tmp_path, env=variables, text=True)
    assert said.split() == [*sorted([*NAMES, "letters", "runes"]), "False"]


@pytest.mark.parametrize("name", NAMES)
def test_a_room_gives_a_task_and_its_report_which_the_task_does_not_know(name):
    room = find_task(name)
    classes = [value for value in vars(room.task).values() if inspect.isclass(value)]
    (task,) = (c for c in classes if issubclass(c, Task) and c.__module__ == room.task.__name__)
    assert type(room.create_report(None)).__module__ == room.report.__name__
    assert not any(issubclass(c, Report) for c in classes)
    declared = {"loss": room.Model.LOSS_OPTIONS, "make_batch": room.Model.BATCH_OPTIONS}
    for method, options in declared.items():
        parameters = inspect.signature(getattr(task, method)).parameters
        own = {n: p.default for n, p in parameters.items() if n not in OWN_ARGUMENTS[method]}
        assert own == options().model_dump()


def config_with(file, **options):
    config = load_config(file)
    stage = config.train.stages[0]
    stages = [replace(stage, name="one"), replace(stage, name="two", options=options)]
    return replace(config, train={"stages": stages})


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        (
            "ages.py",
            {"num_people": 9},
            "num_people: expected a number less than or equal to 8, got 9",
        ),
        ("ages.py", {"people": 3}, "people: no such option; this task's are num_steps, num_people"),
        ("pretty_clevr.py", {"num_jumps": 0}, "num_jumps: expected a number greater than or equal"),
        ("babi.py", {"auxiliary": 1}, "auxiliary: expected a valid boolean, got 1"),
        (
            "babi.py",
            {"auxiliary_facts": True},
            "auxiliary_facts: expected a valid integer, got True",
        ),
        ("triplet.py", {"num_steps": 2}, "num_steps: no such option; this task's are none"),
    ],
)
def test_an_option_that_does_not_fit_is_named(file, options, message):
    with pytest.raises(ValueError) as error:
        config_with(file, **options)
    assert str(error.value).startswith(f"train.stages[1].options.{message}")


def test_options_that_fit_are_taken():
    config_with("ages.py", num_people=8, num_steps=256)
    config_with("babi.py", auxiliary=False, auxiliary_facts=1, augment_below=0, max_facts=2)
