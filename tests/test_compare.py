"""The page that compares runs: what it shows, and what is no run."""

import json
import subprocess
import sys

import pytest

from rrn.compare import main, read_run
from tests.browser import open_page
from tests.helpers import ROOT
from tests.training.test_page import DRAWN, RESULTS

NEW = {"validation", "peak_memory", "ended_early"}  # what earlier checkouts did not say


def make_run(folder, name, rate=0.1, updates=20, ended=True, **metrics):
    """The folder of a run of 20 updates, as training writes it."""
    path = folder / name
    path.mkdir()
    stages = [{"name": "few", "num_updates": 12}, {"name": "all", "num_updates": 8}]
    train = {"stages": stages, "learning_rate": rate}
    run = {"commit": "abc123", "rrn": "0.1.0", "tensorflow": "2.21.0", "data_sha256": name}
    config = {"config": "configs/ages.py:quick", "task": "ages", "train": train, "run": run}
    (path / "config.json").write_text(json.dumps(config))
    lines = []
    for update in range(10, updates + 1, 10):
        lines.append({"update": update, "accuracy": rate, "loss": 3.0, **metrics})
        percents = {"accuracy/all": 100 * rate, "accuracy/distance_1": 5.0}
        lines.append({"update": update, "split": "valid", "mean_loss": 2.0, **percents})
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if ended:
        metrics = {"accuracy/distance_1": 12.5, "accuracy/all": 100 * rate, "loss": 0.5}
        found = {**RESULTS, "metrics": metrics}
        (path / "results.json").write_text(json.dumps(found))
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder, "low")
    make_run(folder, "high", rate=0.75, learning_rate=0.1)
    make_run(folder, "stopped", 0.5, 10, False, learning_rate=0.2, gradient_norm=1.0)
    return folder


def test_the_command_writes_a_page(runs, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(runs)
    assert main(["low", "high", "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"comparison: {tmp_path / 'page.html'}\n"
    assert main(["low", "stopped/"]) == 0
    assert "updates: 10 of 20, unfinished." in (runs / "compare.html").read_text("utf-8")


def test_settings_results_curves_and_provenance_are_side_by_side(runs, monkeypatch, tmp_path):
    monkeypatch.chdir(runs)
    file = tmp_path / "page.html"
    assert main(["low", "high", "stopped", "--out", str(file)]) == 0
    with open_page(file.as_uri(), tmp_path) as page:
        page.wait_for(DRAWN)
        rows = "[...document.querySelectorAll('{} tr')].map(r => r.innerText.split('\\t'))"
        evaluated = "20,000 of data/babi.h5, test"
        assert page.evaluate(rows.format("#results")) == [
            ["", "low", "high", "stopped"],
            ["updates", "20, finished", "20, finished", "10 of 20, unfinished"],
            ["examples", evaluated, evaluated, ""],
            ["right answers, %: distance 1", "12.5", "12.5", ""],
            ["right answers, %: all", "10", "75", ""],
            ["loss", "0.5", "0.5", ""],
        ]
        assert page.evaluate(rows.format("#settings")) == [
            ["field", "low", "high", "stopped"],
            ["train.learning_rate", "0.1", "0.75", "0.5"],
        ]
        first, _, stopped = page.texts("#made p")
        assert first.startswith("configs/ages.py:quick, updates: 20, finished. The weights of")
        assert "3.25 %" in first and "commit 55749d4, TensorFlow 2.21.0" in first
        assert stopped.endswith(
            "10 of 20, unfinished. commit abc123. rrn 0.1.0. tensorflow 2.21.0."
        )
        chart = "#charts figure:first-child"
        assert page.texts(f"{chart} h3") == ["right answers, %"]
        buttons = ["low", "high", "stopped", "distance 1", "all", "training", "validation"]
        assert page.texts(f"{chart} button") == buttons
        assert page.texts(f"{chart} button[aria-pressed=false]") == ["distance 1"]
        count = f"document.querySelectorAll('{chart} path').length"
        assert page.evaluate(count) == 6  # three runs, in training and validation
        page.evaluate(f"document.querySelector('{chart} button[value=high]').click()")
        assert page.evaluate(count) == 4
        page.evaluate(f"document.querySelector('{chart} svg').focus()")
        assert page.texts(f"{chart} output") == ["update 10 · low, all, training: 10"]
        colours = "[...document.querySelectorAll('{} path')].map(p => p.style.color)"
        low, low_too, stopped, _ = page.evaluate(colours.format(chart))
        assert low == low_too != stopped
        rates, gradient = "#charts figure:nth-child(3)", "#charts figure:nth-child(4)"
        assert page.texts(f"{rates} h3, {rates} button") == ["learning rate", "high", "stopped"]
        assert page.evaluate(colours.format(rates))[1] == stopped  # as in the other charts
        assert page.texts(f"{gradient} button") == ["stopped"]  # whose it is
        page.resize(375, 740, mobile=True)
        hidden = (
            "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth)"
        )
        assert page.evaluate(f"{hidden}.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 375
        assert page.requests() == [file.as_uri()] and page.complaints() == []


def test_equal_settings_and_results_of_an_earlier_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        path = make_run(tmp_path, name) / "results.json"
        path.write_text(
            json.dumps({n: v for n, v in RESULTS.items() if n != "made"} | {"metrics": {}})
        )
    assert main(["one", "two"]) == 0
    page = (tmp_path / "compare.html").read_text("utf-8")
    assert "The runs have the same settings." in page and "commit abc123." in page
    made = {n: RESULTS["made"][n] for n in RESULTS["made"].keys() - NEW}
    path.write_text(json.dumps({**RESULTS, "made": made, "metrics": {}}))
    assert main(["one", "two"]) == 0
    page = (tmp_path / "compare.html").read_text("utf-8")
    assert "commit abc123." in page and "The weights of update 20,000 were evaluated. E" in page


def test_a_run_whose_last_stage_ends_early_has_ended(tmp_path):
    path = make_run(tmp_path, "early", updates=10)
    early = {"update": 10, "split": "valid", "mean_loss": 2.0, "ended_early": "all"}
    with (path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(early) + "\n")
    assert read_run(path).status == "10 of 20, ended early"
    with (path / "metrics.jsonl").open("a") as file:  # with more patience
        file.write(json.dumps({"update": 12, "loss": 1.0}) + "\n")
    assert read_run(path).status == "12 of 20, unfinished"


def test_a_run_that_goes_on_after_its_results_is_unfinished(tmp_path):
    path = make_run(tmp_path, "longer", updates=10)
    assert read_run(path).status == "10 of 20, unfinished"


NO_RUN = "expected a run's folder"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("config.json", None, f"run: no run, as it has no config.json; {NO_RUN}"),
        ("config.json", "{", "run/config.json: not JSON: Expecting property name"),
        ("config.json", "[]", "run/config.json: not what a run writes, which begins with a brace"),
        ("config.json", '{"task": "ages"}', "run/config.json: not a run's config"),
        ("config.json", '{"train": {"stages": []}}', "run/config.json: not a run's config"),
        (
            "config.json",
            '{"task": "chess", "train": {"stages": []}}',
            "run/config.json: task is 'chess'; expected one of ages, babi,",
        ),
        ("results.json", "\xff", "run/results.json: not JSON: "),
        ("results.json", '{"metrics": 3}', "run/results.json: not the results of a run"),
        (
            "results.json",
            json.dumps({**RESULTS, "metrics": {"loss": "low"}}),
            "run/results.json: not the results of a run",
        ),
        (
            "results.json",
            json.dumps({**RESULTS, "metrics": {}, "made": {}}),
            "run/results.json: not the results of a run",
        ),
    ],
)
def test_what_is_no_run_is_one_line(tmp_path, monkeypatch, capsys, file, text, said):
    monkeypatch.chdir(tmp_path)
    path = make_run(tmp_path, "run") / file
    make_run(tmp_path, "other")
    path.unlink()
    if text is not None:
        path.write_text(text, "latin-1")
    assert main(["other", "run"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {said}") and error.count("\n") == 1
    assert not (tmp_path / "compare.html").exists()


def test_wrong_folders_and_a_page_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path, "run")

    def error(*arguments):
        assert main(arguments) == 1
        return capsys.readouterr().err

    assert error("run", "runs") == (
        "error: runs: not a folder; expected that of a run, such as runs/babi_quick\n"
    )
    assert error("run", "run/") == "error: run: given twice; expected different runs\n"
    assert error("run", "--out", "none/page.html").startswith("error: none/page.html")


def test_errors_come_before_tensorflow_loads(tmp_path):
    command = [sys.executable, "-X", "importtime", "-m", "rrn.compare", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "no run" in done.stderr
    assert "tensorflow" not in done.stderr
