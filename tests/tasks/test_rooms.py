"""Tasks are added by being there; what a task's package gives, and the options of its stages."""

import pytest

from rrn.config import replace
from rrn.data_prep.finding import find
from rrn.tasks import find_task, task_names
from tests.helpers import load_config

NAMES = ["ages", "babi", "classification", "completion", "pretty_clevr", "sudoku", "triplet"]
# A task in a file, one in a folder, and what tasks share: the two words are in its text, too.
ADDED = {
    "letters.py": "SCHEMAS = ()\n\n\ndef create_task(model, data):\n    return 1\n",
    "runes/__init__.py": "",
    "runes/task.py": "class Runes:\n    pass\n\n\ncreate_task = Runes\n",
    "spelling.py": '"""What create_task of letters and runes calls."""\n\nimport tensorflow\n',
    "scripts/__init__.py": "def create_task():\n    pass\n",
    "scripts/latin.py": "",
}


def test_tasks_are_found_and_modules_that_tasks_share_are_none(tmp_path):
    assert task_names() == NAMES
    for name, text in ADDED.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find(tmp_path, "create_task", "task") == {"letters": "letters", "runes": "runes.task"}


@pytest.mark.parametrize("name", NAMES)
def test_a_package_gives_a_model_and_a_report(name):
    package = find_task(name)
    assert name == package.Model.TASK and package.SCHEMAS
    assert type(package.create_report(None)).__module__ == package.report.__name__


def config_with(file, **options):
    config = load_config(file)
    stage = config.train.stages[0]
    stages = [replace(stage, name="one"), replace(stage, name="two", options=options)]
    return replace(config, train={"stages": stages})


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("ages.py", {"num_people": 9}, "num_people: .*less than or equal to 8"),
        ("ages.py", {"people": 3}, "people: no such option; this task's are num_steps, num_people"),
        ("pretty_clevr.py", {"num_jumps": 0}, "num_jumps: .*greater than or equal"),
        ("babi.py", {"auxiliary": 1}, "auxiliary: .*a valid boolean, got 1"),
        ("babi.py", {"max_facts": True}, "max_facts: .*a valid integer, got True"),
        ("triplet.py", {"num_steps": 2}, "num_steps: no such option; this task's are none"),
    ],
)
def test_an_option_that_does_not_fit_is_named(file, options, message):
    with pytest.raises(ValueError, match=rf"^train\.stages\[1\]\.options\.{message}"):
        config_with(file, **options)


def test_options_that_fit_are_taken():
    config_with("ages.py", num_people=8, num_steps=256)
    config_with("babi.py", auxiliary=False, auxiliary_facts=1, augment_below=0, max_facts=2)
