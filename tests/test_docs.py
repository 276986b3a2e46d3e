"""The documentation: its Python runs, its commands parse, and what it links to or names exists."""

import argparse
import importlib
import itertools
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from absl import flags

from rrn.config_file import read_config
from tests.helpers import ROOT, executable

DOCUMENTS = [
    "README.md",
    "pretrained/README.md",
    *sorted(str(f.relative_to(ROOT)) for f in ROOT.glob("docs/**/*.md")),
]
PACKAGES = "benchmarks|configs|data_prep|docs|pretrained|rrn|tests"


def text_of(document):
    return (ROOT / document).read_text(encoding="utf-8")


def prose_of(document):
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text_of(document), flags=re.DOTALL | re.MULTILINE)


def code_of(document):
    """The pieces of code within the prose, without their backquotes."""
    return re.findall(r"`([^`\n]+)`", prose_of(document))


# Python


def blocks_of(document, language):
    """The blocks of a language in a Markdown file."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(document), re.DOTALL | re.MULTILINE)


# What a document's Python must print, in all or at the end.
PRINTS = {
    "README.md": r"\(5, 10\) \(2, 10\)\n",
    "docs/guide/export.md": r"\[b'office'\]\n\(1, 1, 177\)\n",
    "docs/guide/keras.md": r"<dtype: 'bfloat16'> float32\n",
    "docs/guide/sudoku.md": r"\[\[5 3 4 ",
    "pretrained/README.md": r"\[b'office'\]\n",
}


# That of stages.md runs in tests/training/test_stage_runs.py.
WITH_PYTHON = [d for d in DOCUMENTS if "```python" in text_of(d) and d != "docs/guide/stages.md"]


@pytest.mark.slow
@pytest.mark.parametrize("document", WITH_PYTHON)
def test_the_python_of_a_document_runs(document, tmp_path, monkeypatch, capsys, caplog, request):
    """As it is written, but with fewer updates, steps and trees; its files are in a new folder."""
    code = "\n".join(blocks_of(document, "python"))
    code = re.sub(
        r"^(.*\b(?:NUM_UPDATES|EPOCHS) =(?:.*,)?) \d+$", r"\1 4", code, flags=re.MULTILINE
    )
    code = re.sub(r"^(STEPS, \w+ =) \d+", r"\1 2", code, flags=re.MULTILINE)
    code = code.replace("range(1_000)", "range(100)").replace("cardinality(20)", "cardinality(2)")
    if "runs/babi/saved_model" in code:
        (tmp_path / "runs/babi").mkdir(parents=True)
        saved = request.getfixturevalue("exported_babi")
        (tmp_path / "runs/babi/saved_model").symlink_to(saved)
    (tmp_path / "data").mkdir()
    if "data/babi.h5" in code:
        (tmp_path / "data/babi.h5").symlink_to(request.getfixturevalue("babi_h5"))
    (tmp_path / "pretrained").symlink_to(ROOT / "pretrained")
    (tmp_path / "code.py").write_text(code, encoding="utf-8")  # AutoGraph reads sources from files
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(tmp_path / "code.py"))  # an absolute path: Python keeps sources by name
    assert re.search(PRINTS.get(document, ""), capsys.readouterr().out)
    assert "AutoGraph" not in caplog.text


@pytest.mark.slow
def test_the_tour_prints_and_draws_what_it_shows(monkeypatch, capsys):
    """Every cell, but for numbers with decimals and what is in its figures."""
    notebook = json.loads(text_of("docs/notebooks/tour.ipynb"))
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: print("a figure"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            outputs = [o for o in cell["outputs"] if o.get("name") != "stderr"]
            shown = "".join("".join(o.get("text", "a figure\n")) for o in outputs)
            texts = [re.sub(r"\d+\.\d+", "#", text) for text in (capsys.readouterr().out, shown)]
            assert texts[0] == texts[1]
    assert names["right"][-1] == 81 and names["by_step"][-1] > 95 > 60 > names["by_step"][0]
    text = "".join(line for cell in notebook["cells"] for line in cell["source"])
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        assert (ROOT / "docs/notebooks" / link).exists(), link


@pytest.mark.slow
def test_the_task_of_core_numbers_learns():
    # 0 1 2 3 all know each other: 3. 4 knows 0 and 1, and 5 knows 4 and 0: 2 in the 2-core, where 4
    # also has 5. 6 hangs on 5: 1. 7 is alone: 0.
    path = ROOT / "docs/guide/core_numbers.py"
    found = runpy.run_path(path)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 0), (4, 1), (5, 4), (5, 0), (6, 5)]
    senders, receivers = zip(*(pairs + [(j, i) for i, j in pairs]), strict=True)
    numbers = found["core_numbers"](np.array(senders), np.array(receivers), 8)
    assert numbers.tolist() == [3, 3, 3, 3, 2, 2, 1, 0]
    _, losses = found["train"](40, np.random.default_rng(0))
    assert len(losses) == 40 and sum(losses[-10:]) < 0.8 * sum(losses[:10])


@pytest.mark.slow
def test_the_new_task_trains_in_a_checkout(tmp_path):
    """By the three commands of new_task.md, which change nothing else."""
    for name in ("configs", "data_prep", "rrn"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "main.py", tmp_path)
    _, after = text_of("docs/guide/new_task.md").split("    cp -r docs/guide/rumours/. .\n")
    prepare, train = (shlex.split(line)[1:] for line in after.splitlines()[:2])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    shutil.copytree(ROOT / "docs/guide/rumours", tmp_path, dirs_exist_ok=True)
    assert len({path for path in tmp_path.rglob("*") if path.is_file()} - before) == 3
    short = ["num_updates=60", "evaluate_every_updates=30", "validation_examples=50"]
    train += ["--devices=cpu", *(f"--config.train.{field}" for field in short)]
    outputs = [
        subprocess.check_output([sys.executable, *arguments], cwd=tmp_path, text=True)
        for arguments in (prepare, train)
    ]
    (right,) = re.findall(r"^accuracy by step, %:(.*)$", outputs[1], re.MULTILINE)
    first, *_, last = map(float, right.split())
    assert 50 < first < last > 75


# Commands


def commands():
    """All commands of the documents, as tuples of words."""
    found = set()
    for document in DOCUMENTS:
        prose = prose_of(document).replace("\\\n", " ")
        lines = re.findall(r"^    (?:[A-Z_]+=\S+ )*((?:make|python) .*)$", prose, re.MULTILINE)
        lines += [c for c in code_of(document) if c.startswith(("make ", "python ", "--config "))]
        found |= {tuple(shlex.split(line, comments=True)) for line in lines}
    # The new task's are run by test_the_new_task_trains_in_a_checkout.
    return sorted(words for words in found if "rumours" not in " ".join(words))


class ParsedError(BaseException):
    pass


def parse_main(arguments):
    """Parses the flags of main.py, and reads the config with its changed fields."""
    main = importlib.import_module("rrn.__main__")
    changes = main.parse_flags(["main.py", *arguments])
    read_config(flags.FLAGS["config"].value, changes)
    flags.FLAGS.unparse_flags()
    files = [value for flag, value in itertools.pairwise(arguments) if flag == "--weights"]
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_parses(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    match words:
        case ("make", *targets):
            for target in targets:
                assert "=" in target or re.search(rf"^{target}:", text_of("Makefile"), re.MULTILINE)
        case ("python", "main.py", *arguments):
            parse_main(arguments)
        case ("--config", *_):
            parse_main(words)
        case ("python", "-m", module):
            assert finds(module)
        case ("python", "-m", module, *arguments):
            parse_only(module, arguments, monkeypatch)
        case ("python", path, *arguments):
            assert (ROOT / path).exists()
        case _:
            raise AssertionError(words)


def parse_only(module, arguments, monkeypatch):
    """Runs a command as far as its parsed arguments."""

    def parse(parser, *words, **named):
        original(parser, *words, **named)
        raise ParsedError

    original = argparse.ArgumentParser.parse_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(ParsedError):
        runpy.run_module(module, run_name="__main__", alter_sys=True)


# Links and names


def anchors_of(document):
    """The anchors of a Markdown file's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_relative_links_and_images_lead_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(document)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / document).parent / path).resolve() if path else ROOT / document
        assert target.is_relative_to(ROOT) and target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_picture_and_page_is_linked():
    linked = {
        ((ROOT / document).parent / link.partition("#")[0]).resolve()
        for document in DOCUMENTS
        for link in re.findall(r"\]\(([^)\s]+)\)", text_of(document))
    }
    pictures = ROOT.glob("docs/images/*")
    pages = ROOT.glob("docs/**/*.md")
    assert sorted({*pictures, *pages} - linked) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_and_names_in_the_prose_exist(document):
    """`rrn/files/data.py`, `rrn/files/data.py: read_prepared`, `rrn.nn`."""
    for code in code_of(document):
        if match := re.fullmatch(rf"((?:{PACKAGES})/[\w/.]*)(:\w+|: \w+)?", code):
            path, name = match[1], match[2] or ""
            assert (ROOT / path).exists(), code
            if name.startswith(": "):
                definition = rf"^ *(def|class) {name[2:]}\b"
                assert re.search(definition, text_of(path), re.MULTILINE), code
            elif name:
                module = path.removesuffix(".py").replace("/", ".")
                importlib.import_module(module).get_config(name[1:])
        elif re.fullmatch(r"rrn(\.\w+)+", code):
            assert finds(code), code


def finds(dotted):
    """Whether a dotted name is a module or something in one."""
    try:
        importlib.import_module(dotted)
        return True
    except ModuleNotFoundError:
        module, _, name = dotted.rpartition(".")
        return hasattr(importlib.import_module(module), name)


def test_the_slurm_script_tells_every_node_its_task(tmp_path):
    (script,) = blocks_of("docs/guide/several_machines.md", "bash")
    executable(tmp_path / "job", script)
    executable(tmp_path / "scontrol", 'echo "$3" | tr , "\\n"')
    executable(tmp_path / "srun", 'for i in 0 1 2 3 4; do SLURM_PROCID=$i "${@:2}"; done')
    executable(tmp_path / "python", 'echo "$TF_CONFIG" | tr -d "\\n"; echo')
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "a,b,c,d,e"}
    output = subprocess.check_output([tmp_path / "job"], env=environment, text=True)
    nodes = [json.loads(line) for line in output.splitlines()]
    tasks = [("chief", 0), ("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
    assert [(node["task"]["type"], int(node["task"]["index"])) for node in nodes] == tasks
    addresses = {"chief": ["a:2222"], "ps": ["b:2222", "c:2222"], "worker": ["d:2222", "e:2222"]}
    assert all(node["cluster"] == addresses for node in nodes)


def test_the_page_of_all_settings_is_current():
    page = runpy.run_path(ROOT / "docs/config_reference.py")["page"]
    assert text_of("docs/guide/config.md") == page(), "python docs/config_reference.py writes it"
