"""The documentation's Python runs as it is written, but for the number of updates.

Its commands parse, and what it links to or names exists.
"""

import argparse
import ast
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
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import yaml

from rrn import sweep
from rrn.data_prep import __main__ as data_prep
from rrn.data_prep import hdf5
from rrn.distribute.cluster import parse_tf_config
from rrn.models import publish
from rrn.models.export import export
from rrn.tasks import Report
from rrn.training.evaluation import Evaluator
from tests.fuzz import parser as fuzz_parser
from tests.helpers import CPUS, load_config, make_trainer
from tests.kills import parser as kills_parser

ROOT = Path(__file__).resolve().parents[1]
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


def python_of(document):
    """The Python blocks of a Markdown file, one after the other."""
    blocks = blocks_of(document, "python")
    assert len(blocks) == text_of(document).count("```python") > 0
    return "\n".join(blocks)


def blocks_of(document, language):
    """The blocks of a language in a Markdown file."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(document), re.DOTALL | re.MULTILINE)


def run(code, folder, monkeypatch):
    monkeypatch.chdir(folder)  # what the code saves stays there
    (folder / "code.py").write_text(code, encoding="utf-8")  # AutoGraph reads sources from files
    return runpy.run_path("code.py")


def test_the_python_of_every_document_is_run_by_a_test():
    assert {document for document in DOCUMENTS if "```python" in text_of(document)} == {
        "README.md",
        "docs/guide/export.md",
        "docs/guide/keras.md",
        "docs/guide/modules.md",
        "docs/guide/own_network.md",
        "docs/guide/questions.md",
        "docs/guide/ragged_graphs.md",
        "docs/guide/stages.md",  # by tests/training/test_stages.py
        "docs/guide/sudoku.md",
        "docs/guide/towers.md",
        "docs/notes/training.md",
        "pretrained/README.md",
    }


PROGRAMS = [str(f.relative_to(ROOT)) for f in ROOT.glob("docs/**/*.py")]


@pytest.mark.parametrize("document", [*DOCUMENTS, *PROGRAMS])
def test_documented_imports_are_no_deeper_than_two_names(document):
    imported = re.findall(r"^(?:from|import) (rrn[.\w]*)", text_of(document), re.MULTILINE)
    assert not [name for name in imported if name.count(".") > 1]


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    run(python_of("README.md"), tmp_path, monkeypatch)
    assert capsys.readouterr().out == "(5, 10) (2, 10)\n" * 4


@pytest.mark.slow
def test_the_python_of_modules_md_runs(tmp_path, monkeypatch, capsys):
    code = python_of("docs/guide/modules.md")
    code, replaced = re.subn(r"^(NUM_UPDATES =) \d+$", r"\1 40", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    printed = re.findall(r"^step (\d): ([\d.]+) %", capsys.readouterr().out, re.MULTILINE)
    assert [int(step) for step, _ in printed] == list(range(1, results["STEPS"] + 1))
    out_of_reach = 100 * (results["distances"].numpy() == results["CLASSES"] - 1).mean()
    assert float(printed[-1][1]) > out_of_reach + 5  # more than the most frequent answer gives
    assert (tmp_path / "distances.h5").exists()


def test_the_python_of_own_network_md_learns_and_its_parts_are_short(tmp_path, monkeypatch, capsys):
    code = python_of("docs/guide/own_network.md")
    parts = [node for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    assert [part.name for part in parts] == ["Attention", "Residual", "NeighbourMean"]
    assert max(part.end_lineno - part.lineno + 1 for part in parts) < 20
    code, replaced = re.subn(r"(NUM_UPDATES = .*), 300$", r"\1, 60", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    first, last = re.findall(r"([\d.]+) at", capsys.readouterr().out)
    assert float(last) < 0.02 < 0.5 < float(first)  # 0.02 is the variance of the answers
    assert [states.shape for states in results["states"]] == [(64 * 8, 16)] * 4


@pytest.mark.slow
def test_the_python_of_ragged_graphs_md_trains_is_served_and_is_a_task(
    tmp_path, monkeypatch, capsys
):
    code = python_of("docs/guide/ragged_graphs.md")
    code, replaced = re.subn(r"(NUM_UPDATES = .*), 400$", r"\1, 100", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    (printed,) = re.findall(r"^% right by step: (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert 50 < float(printed.split()[0]) < float(printed.split()[-1]) > 80
    # The same batch in both ways, the same answers of a padded one, and those that are served.
    task, arrays, batch = results["task"], results["arrays"], results["batch"]
    tf.nest.map_structure(
        np.testing.assert_array_equal,
        tf.nest.flatten(task.make_batch(arrays, tf.range(32), None, True), expand_composites=True),
        tf.nest.flatten(batch, expand_composites=True),
    )
    logits = task.network.logits(batch["graph"])
    np.testing.assert_allclose(results["logits"], logits, rtol=1e-4, atol=1e-5)
    assert results["padded"].known_sizes().nodes == 32 * 16 + 1
    assert results["found"]["probability"].numpy().argmin() == 5
    specs = results["served"].structured_input_signature[1]
    assert {name: spec.shape.as_list() for name, spec in specs.items()} == {
        "edges": [None, 2],
        "num_nodes": [None],
    }
    # The file passes its check, and the trainer takes the task.
    assert "edges between nodes of one graph" in results["check"](
        hdf5.read("data/news.h5").datasets
    )
    config = load_config("ages.py", "test")
    trainer, inputs = make_trainer(config, results["data"], task, CPUS[:2])
    means, wrong = trainer.train([iter(dataset) for dataset in inputs], tf.constant(2))
    assert int(wrong) == -1 and 0 < float(means["loss"]) < 0.5
    outputs = Evaluator(Report(task), config.evaluate, CPUS[:2], results["test"], 0).outputs()
    assert outputs["right"].shape == (500, results["STEPS"]) and outputs["right"].mean() > 0.8


@pytest.mark.slow
def test_the_python_of_keras_md_trains_saves_and_loads(tmp_path, monkeypatch, capsys):
    code = python_of("docs/guide/keras.md")
    code, replaced = re.subn(r"^(EPOCHS =) \d+$", r"\1 4", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    assert "Total params: 618 " in printed
    (right,) = re.findall(r"^([\d.]+) % right", printed, re.MULTILINE)
    labels = np.concatenate([labels[:, 0] for _, labels in results["batches"]])
    assert float(right) > 100 * np.bincount(labels).max() / len(labels) + 5
    names = ["features", *(f"graph_{name}" for name in sorted(results["inputs"]["graph"]))]
    assert printed.endswith(f"0.0\n{names}\n<dtype: 'bfloat16'> float32\n")


def test_the_python_of_towers_md_runs(tmp_path, monkeypatch, capsys):
    code = python_of("docs/guide/towers.md")
    code, replaced = re.subn(r"^(NUM_UPDATES =) \d+$", r"\1 60", code, flags=re.MULTILINE)
    assert replaced == 1
    run(code, tmp_path, monkeypatch)
    (nearer,) = re.findall(r"nearer: ([\d.]+) %$", capsys.readouterr().out, re.MULTILINE)
    assert float(nearer) > 60  # chance is 50


def test_the_python_of_sudoku_md_solves_its_puzzle(tmp_path, monkeypatch, capsys):
    code = python_of("docs/guide/sudoku.md").replace("pretrained/", f"{ROOT}/pretrained/")
    results = run(code, tmp_path, monkeypatch)
    assert results["found"].valid.tolist() == [True]
    said = capsys.readouterr().out
    assert said.startswith("[[5 3 4 ") and said.endswith("(1, 256, 8, 17)\n")


def test_the_python_of_the_weights_page_answers(tmp_path, monkeypatch, capsys):
    code = python_of("pretrained/README.md").replace("pretrained/", f"{ROOT}/pretrained/")
    run(code, tmp_path, monkeypatch)
    assert capsys.readouterr().out.startswith("[b'office']\n")


@pytest.mark.slow
def test_the_python_of_export_md_answers(tmp_path, monkeypatch, capsys):
    (tmp_path / "runs/babi").mkdir(parents=True)
    said = export(ROOT / "pretrained/babi.h5", tmp_path / "runs/babi/saved_model")
    assert "  answer        string   [n]\n" in said
    results = run(python_of("docs/guide/export.md"), tmp_path, monkeypatch)
    assert capsys.readouterr().out == "[b'office']\n(1, 1, 177)\n"
    assert results["answers"]["answer"].numpy().tolist() == [b"office"]


def test_the_python_of_training_md_counts_facts(babi_h5, tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/babi.h5").symlink_to(babi_h5)
    run(python_of("docs/notes/training.md"), tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 3
    assert all(
        f"    {line}\n" in text_of("docs/notes/training.md") for line in printed.splitlines()
    )


@pytest.mark.slow
def test_the_python_of_questions_md_takes_xlas_mark_from_a_copy(tmp_path, monkeypatch):
    saved = tmp_path / "runs/pretty_clevr/saved_model"
    export(ROOT / "pretrained/pretty_clevr.h5", saved)
    run(python_of("docs/guide/questions.md"), tmp_path, monkeypatch)
    places = saved, tmp_path / "runs/plain"
    marked = [b"_XlaMustCompile" in (place / "saved_model.pb").read_bytes() for place in places]
    assert marked == [True, False]
    eight = tf.range(8)[None]
    inputs = {"positions": tf.zeros([1, 8, 2]), "colours": eight, "markers": eight}
    inputs |= {"anchor": tf.constant([3]), "jumps": tf.constant([2])}
    models = [tf.saved_model.load(str(place)) for place in places]
    expected, found = (model.predict(inputs) for model in models)
    np.testing.assert_allclose(found["probabilities"], expected["probabilities"], atol=1e-5)


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


def test_the_core_numbers_of_a_hand_made_graph():
    # 0 1 2 3 all know each other: 3. 4 knows 0 and 1, and 5 knows 4 and 0: 2 in the 2-core, where 4
    # also has 5. 6 hangs on 5: 1. 7 is alone: 0.
    core_numbers = runpy.run_path(ROOT / "docs/guide/core_numbers.py")["core_numbers"]
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 0), (4, 1), (5, 4), (5, 0), (6, 5)]
    senders, receivers = zip(*(pairs + [(j, i) for i, j in pairs]), strict=True)
    numbers = core_numbers(np.array(senders), np.array(receivers), 8)
    assert numbers.tolist() == [3, 3, 3, 3, 2, 2, 1, 0]


@pytest.mark.slow
def test_the_task_of_core_numbers_runs_and_learns(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["core_numbers.py", "--updates", "40"])
    path = ROOT / "docs/guide/core_numbers.py"
    losses = runpy.run_path(path, run_name="__main__")["losses"]
    assert len(losses) == 40 and sum(losses[-10:]) < 0.8 * sum(losses[:10])
    assert capsys.readouterr().out.count("% of the nodes right by step: 1: ") == 3


@pytest.mark.slow
def test_the_new_task_trains_in_a_checkout(tmp_path):
    """By the three commands of new_task.md, which change nothing else."""
    for name in ("configs", "data_prep", "rrn"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "main.py", tmp_path)
    _, after = text_of("docs/guide/new_task.md").split("    cp -r docs/guide/rumours/. .\n")
    prepare, train = (shlex.split(line)[1:] for line in after.splitlines()[:2])
    check = ["-m", "data_prep", "check", "data/rumours.h5"]
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    shutil.copytree(ROOT / "docs/guide/rumours", tmp_path, dirs_exist_ok=True)
    assert len({path for path in tmp_path.rglob("*") if path.is_file()} - before) == 3
    short = ["num_updates=60", "evaluate_every_updates=30", "validation_examples=50"]
    train += ["--devices=cpu:2", *(f"--config.train.{field}" for field in short)]
    outputs = [
        subprocess.check_output([sys.executable, *arguments], cwd=tmp_path, text=True)
        for arguments in (prepare, check, train)
    ]
    assert "schema 'rumours', version 1" in outputs[1] and "who has heard it" in outputs[1]
    (right,) = re.findall(r"^people right by step, %:(.*)$", outputs[2], re.MULTILINE)
    first, *_, last = map(float, right.split())
    assert 50 < first < last > 75


# Commands


def commands_of(document):
    """The commands of a Markdown file, in indented lines or within the prose, as lists of words.

    A line that ends with a backslash goes on in the next.
    """
    prose = prose_of(document).replace("\\\n", " ")
    indented = re.findall(r"^    (?:TF_CONFIG=\S+ \S+ )?((?:make|python) .*)$", prose, re.MULTILINE)
    inline = [c for c in code_of(document) if c.startswith(("make ", "python ", "--config "))]
    return [shlex.split(command, comments=True) for command in indented + inline]


def commands(*start):
    """What comes after the words `start` in commands of the documents."""
    found = {
        tuple(words[len(start) :])
        for document in DOCUMENTS
        for words in commands_of(document)
        if words[: len(start)] == list(start)
    }
    assert found, f"no document has a command `{' '.join(start)}`"
    return sorted(found)


def test_every_command_is_of_a_program_that_is_tried_here():
    modules = r"data_prep|rrn\.models\.publish|rrn\.tasks\.sudoku|benchmarks\.\w+"
    modules += r"|rrn\.data_prep"  # data_prep in a wheel, see try_wheel.py
    modules += r"|rrn\.sweep|tests\.(fuzz|kills)"
    tried = rf"(make|--config|python (main\.py|docs/guide/core_numbers\.py|-m ({modules})))( |$)"
    for document in DOCUMENTS:
        for words in commands_of(document):
            assert re.match(tried, " ".join(words)), (document, words)


OF_MAIN = sorted(
    {*commands("python", "main.py"), *(("--config", *rest) for rest in commands("--config"))}
    - {("--config", "configs/rumours.py")}  # see test_the_new_task_trains_in_a_checkout
)


@pytest.mark.parametrize("arguments", OF_MAIN, ids=" ".join)
def test_main_takes_every_command(arguments):
    parse = "import sys, rrn.main; rrn.main.parse_flags(sys.argv)"
    subprocess.run([sys.executable, "-c", parse, *arguments], cwd=ROOT, check=True)
    files = [value for flag, value in itertools.pairwise(arguments) if flag == "--weights"]
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.parametrize("arguments", commands("python", "-m", "rrn.tasks.sudoku"), ids=" ".join)
def test_sudoku_takes_every_command(arguments):
    command = "rrn.tasks.sudoku.application.__main__"
    parse = f"import sys; from {command} import parse_flags; parse_flags(sys.argv)"
    subprocess.run([sys.executable, "-c", parse, *arguments], cwd=ROOT, check=True)


OF_DATA = [c for c in commands("python", "-m", "data_prep") if c and not c[0].startswith("-")]
OF_DATA = [c for c in OF_DATA if c[0] != "rumours"]  # see test_the_new_task_trains_in_a_checkout


@pytest.mark.parametrize("arguments", OF_DATA, ids=" ".join)
def test_data_prep_takes_every_command(arguments, monkeypatch):
    for module in data_prep.COMMANDS.values():
        monkeypatch.setattr(module, "run", lambda options: None)
    assert data_prep.main(arguments) == 0


@pytest.mark.parametrize("arguments", commands("python", "-m", "tests.fuzz"), ids=" ".join)
def test_the_campaign_takes_every_command(arguments):
    assert vars(fuzz_parser().parse_args(arguments)).keys() == {"minutes", "seed", "kind"}


@pytest.mark.parametrize("arguments", commands("python", "-m", "tests.kills"), ids=" ".join)
def test_the_kills_take_every_command(arguments):
    assert kills_parser().parse_args(arguments).kills > 0


@pytest.mark.parametrize("arguments", commands("python", "-m", "rrn.models.publish"), ids=" ".join)
def test_publish_takes_every_command(arguments, monkeypatch):
    taken = []
    monkeypatch.setattr(publish, "publish", lambda **options: taken.append(options))
    monkeypatch.setattr(publish, "card", str)
    assert publish.main(arguments) == 0
    assert taken[0].keys() == {"weights", "out", "results", "licence"}


@pytest.mark.parametrize("arguments", commands("python", "-m", "rrn.sweep"), ids=" ".join)
def test_sweep_takes_every_command(arguments, monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(sweep, "make_runs", lambda runs, devices: made.extend(runs) or [])
    sweep.sweep([*arguments, f"--workdir={tmp_path}"])
    assert len(made) >= 2


OF_BENCHMARKS = [c for c in commands("python", "-m") if c[0].startswith("benchmarks.")]


@pytest.mark.parametrize("arguments", OF_BENCHMARKS, ids=" ".join)
def test_benchmarks_take_every_command(arguments, monkeypatch):
    if arguments[0].endswith("_torch"):
        pytest.importorskip("torch")

    class ParsedError(Exception):
        pass

    def parse_only(parser, *words):
        parse(parser, *words)
        raise ParsedError

    parse = argparse.ArgumentParser.parse_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    monkeypatch.setattr(sys, "argv", list(arguments))
    with pytest.raises(ParsedError):
        importlib.import_module(arguments[0]).main()


def test_the_makefile_has_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target, *_ in commands("make"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


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


# Clusters


def executable(path, script):
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def test_the_slurm_script_tells_every_node_its_task(tmp_path):
    (script,) = blocks_of("docs/guide/several_machines.md", "bash")
    executable(tmp_path / "job", script)
    executable(tmp_path / "scontrol", 'echo "$3" | tr , "\\n"')
    executable(tmp_path / "srun", 'for i in 0 1 2 3 4; do SLURM_PROCID=$i "${@:2}"; done')
    executable(tmp_path / "python", 'echo "$TF_CONFIG" | tr -d "\\n"; echo')
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "a,b,c,d,e"}
    output = subprocess.check_output([tmp_path / "job"], env=environment, text=True)
    clusters = [parse_tf_config(line) for line in output.splitlines()]
    tasks = [("chief", 0), ("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
    assert [(cluster.role, cluster.index) for cluster in clusters] == tasks
    addresses = {"chief": ["a:2222"], "ps": ["b:2222", "c:2222"], "worker": ["d:2222", "e:2222"]}
    assert all(cluster.addresses == addresses for cluster in clusters)


def test_the_tf_config_and_the_manifest_of_several_machines_md():
    (text,) = blocks_of("docs/guide/several_machines.md", "json")
    cluster = parse_tf_config(text)
    assert (cluster.role, cluster.index, len(cluster.addresses["worker"])) == ("worker", 2, 3)
    (text,) = blocks_of("docs/guide/several_machines.md", "yaml")
    processes = yaml.safe_load(text)["spec"]["tfReplicaSpecs"]
    assert {role: p["replicas"] for role, p in processes.items()} == {
        "Chief": 1,
        "PS": 2,
        "Worker": 7,
    }
    for process in processes.values():
        (container,) = process["template"]["spec"]["containers"]
        assert container["name"] == "tensorflow" and "main.py" in container["command"]
