"""The documentation's Python runs as it is written, but for the number of updates; the flags of its
commands exist.
"""

import argparse
import importlib
import itertools
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from data_prep import __main__ as data_prep
from rrn.distribute.cluster import parse_tf_config

ROOT = Path(__file__).resolve().parents[1]


def python_of(document):
    """The Python blocks of a Markdown file, one after the other."""
    blocks = blocks_of(document, "python")
    assert len(blocks) == (ROOT / document).read_text(encoding="utf-8").count("```python") > 0
    return "\n".join(blocks)


def blocks_of(document, language):
    """The blocks of a language in a Markdown file."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run(code, folder, monkeypatch):
    monkeypatch.chdir(folder)  # what the code saves stays there
    (folder / "code.py").write_text(code, encoding="utf-8")  # AutoGraph reads sources from files
    return runpy.run_path("code.py")


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    run(python_of("README.md"), tmp_path, monkeypatch)
    assert capsys.readouterr().out == "(5, 10) (2, 10)\n" * 4


def test_the_python_of_modules_md_runs(tmp_path, monkeypatch, capsys):
    code = python_of("docs/modules.md")
    code, replaced = re.subn(r"^(NUM_UPDATES =) \d+$", r"\1 40", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    printed = re.findall(r"^step (\d): ([\d.]+) %", capsys.readouterr().out, re.MULTILINE)
    assert [int(step) for step, _ in printed] == list(range(1, results["STEPS"] + 1))
    out_of_reach = 100 * (results["distances"].numpy() == results["CLASSES"] - 1).mean()
    assert float(printed[-1][1]) > out_of_reach + 5  # more than the most frequent answer gives
    assert (tmp_path / "distances.h5").exists()


def test_the_python_of_towers_md_runs(tmp_path, monkeypatch, capsys):
    code = python_of("docs/towers.md")
    code, replaced = re.subn(r"^(NUM_UPDATES =) \d+$", r"\1 60", code, flags=re.MULTILINE)
    assert replaced == 1
    run(code, tmp_path, monkeypatch)
    (nearer,) = re.findall(r"nearer: ([\d.]+) %$", capsys.readouterr().out, re.MULTILINE)
    assert float(nearer) > 60  # chance is 50


def test_the_core_numbers_of_a_hand_made_graph():
    # 0 1 2 3 all know each other: 3. 4 knows 0 and 1, and 5 knows 4 and 0: 2 in the 2-core, where 4
    # also has 5. 6 hangs on 5: 1. 7 is alone: 0.
    core_numbers = runpy.run_path(ROOT / "docs/core_numbers.py")["core_numbers"]
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 0), (4, 1), (5, 4), (5, 0), (6, 5)]
    senders, receivers = zip(*(pairs + [(j, i) for i, j in pairs]), strict=True)
    numbers = core_numbers(np.array(senders), np.array(receivers), 8)
    assert numbers.tolist() == [3, 3, 3, 3, 2, 2, 1, 0]


def test_the_task_of_core_numbers_runs_and_learns(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["core_numbers.py", "--updates", "40"])
    losses = runpy.run_path(ROOT / "docs/core_numbers.py", run_name="__main__")["losses"]
    assert len(losses) == 40 and sum(losses[-10:]) < 0.8 * sum(losses[:10])
    assert capsys.readouterr().out.count("% of the nodes right by step: 1: ") == 3


def commands(program):
    """What comes after `python PROGRAM` in the lines of shell of README.md and docs/."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(document.read_text(encoding="utf-8") for document in documents)
    found = re.findall(rf"^    (?:TF_CONFIG=\S+ \S+ )?python {program}(.*)$", text, re.MULTILINE)
    assert found, f"no document has a line `python {program}`"
    return sorted({tuple(shlex.split(arguments, comments=True)) for arguments in found})


@pytest.mark.parametrize("arguments", commands(r"main\.py"), ids=" ".join)
def test_main_takes_every_command(arguments):
    parse = "import sys, main; main.parse_flags(sys.argv)"
    subprocess.run([sys.executable, "-c", parse, *arguments], cwd=ROOT, check=True)
    files = [value for flag, value in itertools.pairwise(arguments) if flag == "--weights"]
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.parametrize("arguments", commands("-m data_prep"), ids=" ".join)
def test_data_prep_takes_every_command(arguments, monkeypatch):
    for module in data_prep.DATA_SETS.values():
        monkeypatch.setattr(module, "run", lambda options: None)
    assert data_prep.main(arguments) == 0


@pytest.mark.parametrize("arguments", commands(r"-m (?=benchmarks)"), ids=" ".join)
def test_benchmarks_take_every_command(arguments, monkeypatch):
    class ParsedError(Exception):
        pass

    def parse_only(parser):
        parse(parser)
        raise ParsedError

    parse = argparse.ArgumentParser.parse_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    monkeypatch.setattr(sys, "argv", list(arguments))
    with pytest.raises(ParsedError):
        importlib.import_module(arguments[0]).main()


def executable(path, script):
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def test_the_slurm_script_tells_every_node_its_task(tmp_path):
    (script,) = blocks_of("docs/distributed.md", "bash")
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


def test_the_tf_config_and_the_manifest_of_distributed_md():
    (text,) = blocks_of("docs/distributed.md", "json")
    cluster = parse_tf_config(text)
    assert (cluster.role, cluster.index, len(cluster.addresses["worker"])) == ("worker", 2, 3)
    (text,) = blocks_of("docs/distributed.md", "yaml")
    processes = yaml.safe_load(text)["spec"]["tfReplicaSpecs"]
    assert {role: p["replicas"] for role, p in processes.items()} == {
        "Chief": 1,
        "PS": 2,
        "Worker": 7,
    }
    for process in processes.values():
        (container,) = process["template"]["spec"]["containers"]
        assert container["name"] == "tensorflow" and "main.py" in container["command"]
