"""Models made again from their weights files."""

import dataclasses
import json
import re

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.files.weights import model_variables, read_weights, save_weights, write_weights
from rrn.models import describe, load, summary
from rrn.models.publish import card, main
from rrn.nn.layers import MLP
from rrn.training import Request, run
from tests.helpers import ROOT, load_config, small_babi

PRETRAINED = sorted((ROOT / "pretrained").glob("*.h5"))


@pytest.mark.parametrize("path", PRETRAINED, ids=lambda path: path.stem)
def test_a_published_model_is_made_from_its_file_alone(path):
    weights, model = read_weights(path), load(path)
    for variable in model_variables(model):
        np.testing.assert_array_equal(variable, weights.arrays[variable.name.removesuffix(":0")])
    assert weights.attributes["licence"] == "Apache-2.0" and weights.attributes["results"]


def test_the_cards_are_those_of_the_files():
    lines = (ROOT / "pretrained/README.md").read_text(encoding="utf-8").splitlines()
    cards = [line for line in lines if re.match(r"\| `\w+\.h5`", line)]
    assert cards == [card(read_weights(path)) for path in PRETRAINED]


def test_the_summary_lists_every_variable_and_their_sum():
    lines = summary(MLP([3, 4, 2], name="mlp")).splitlines()
    assert [line.split() for line in lines] == [
        ["mlp/linear_0/b", "[4]", "4"],
        ["mlp/linear_0/w", "[3,", "4]", "12"],
        ["mlp/linear_1/b", "[2]", "2"],
        ["mlp/linear_1/w", "[4,", "2]", "8"],
        ["4", "variables", "of", "MLP", "26"],
    ]


@pytest.fixture(scope="module")
def babi(small_babi_h5, tmp_path_factory):
    """(config, data, task, its weights file)."""
    tf.random.set_seed(0)  # before the fixture of each test does
    config, data, task = small_babi(small_babi_h5)
    path = tmp_path_factory.mktemp("models") / "weights.h5"
    about = {"config": "small", "update": 3, **describe(config.model, data)}
    about["data"]["notes"] = "made-up stories"
    save_weights(path, model_variables(task), about, task.constants)
    return config, data, task, path


def test_fields_may_be_changed_and_wrong_ones_are_named(babi):
    _, data, task, path = babi
    model, saved = load(path, compute_dtype="bfloat16", num_steps=3), read_weights(path)
    assert saved.attributes["data"].items() >= {"file": "babi.h5", "digest": data.digest}.items()
    assert model.config.compute_dtype == "bfloat16" and model.config.num_steps == 3
    assert model.config.hidden_size == 16
    assert model.batches.boundaries(20) == task.batches.boundaries(20)
    assert model.constants["vocabulary"].tolist() == task.constants["vocabulary"].tolist()
    with pytest.raises(ValueError, match=r"weights\.h5: its model has no field steps; fields are"):
        load(path, steps=3)


def test_weights_alone_are_no_model(tmp_path):
    save_weights(tmp_path / "alone.h5", [tf.Variable([1.0], name="w")], {"update": 3})
    with pytest.raises(
        ValueError, match=r"alone\.h5: attribute task: expected one of ages, .* got None"
    ):
        load(tmp_path / "alone.h5")


@pytest.mark.slow
def test_evaluation_takes_the_model_from_the_weights_file(babi, small_sudoku_h5, tmp_path, capsys):
    """Neither the config's model nor its training data are needed."""
    _, data, _, path = babi
    lost = {"path": str(tmp_path / "lost.h5")}
    other = replace(load_config("babi.py", "test"), data=lost, evaluate={"path": data.path})
    asked = {"mode": "evaluate", "devices": "cpu", "weights": path}
    run(Request(other, "other", tmp_path / "theirs", model_fields={"num_steps": 1}, **asked))
    results = json.loads((tmp_path / "theirs/results.json").read_text())
    assert len(results["by_step"]["error/mean"]) == 1
    assert "trained on babi.h5: made-up stories\n" in capsys.readouterr().out
    assert results["notes"] == "made-up stories"
    sudoku = replace(load_config("sudoku.py", "test"), data={"path": str(small_sudoku_h5)})
    with pytest.raises(ValueError, match=r"weights\.h5: its task is babi, the config's sudoku"):
        run(Request(sudoku, "sudoku", tmp_path / "no", **asked))


# Publishing


def write_results(path, weights):
    """Results as an evaluation of the weights writes them; returns what is published of these."""
    results = {"split": "test", "examples": 45, "metrics": {"error/mean": 5.0, "loss": 1.5}}
    made = {"made": {"weights": read_weights(weights).sha256(), "commit": "0123456789"}}
    path.write_text(json.dumps({"config": "small", **results, **made}))
    path.with_name("config.json").write_text('{"seed": 7}')
    return results


def test_a_runs_weights_are_published_with_its_results(babi, tmp_path, capsys):
    weights, out = tmp_path / "weights.h5", tmp_path / "out.h5"
    weights.write_bytes(babi[3].read_bytes())
    results = write_results(tmp_path / "results.json", weights)
    assert main([str(weights), "--out", str(out), "--licence", "MIT"]) == 0
    published = read_weights(out)
    assert published.attributes["results"] == results and published.attributes["licence"] == "MIT"
    printed = capsys.readouterr().out
    assert printed == card(published) + "\n"
    assert re.search(r" 7 \| 0123456 \| 3 .*made-up stories \| error/mean 5 \(45 test\)", printed)
    before, after = read_weights(weights).arrays, published.arrays
    assert all(before[name].tobytes() == after[name].tobytes() for name in before | after)


def test_results_of_other_weights_are_refused(babi, tmp_path, capsys):
    """As those of a run that has gone on since."""
    results, weights, out = (tmp_path / name for name in ("results.json", "weights.h5", "out.h5"))
    write_results(results, babi[3])
    saved = read_weights(babi[3])
    changed = {name: array + 1.0 for name, array in saved.arrays.items()}
    write_weights(dataclasses.replace(saved, path=str(weights), arrays=changed))
    assert main([str(weights), "--out", str(out)]) == 1 and not out.exists()
    assert f"error: {results}: of other weights than {weights}" in capsys.readouterr().err
    results.unlink()  # weights can be published without any
    assert main([str(weights), "--out", str(out)]) == 0
    assert "results" not in read_weights(out).attributes


@pytest.mark.parametrize("text", ["", "[3]", "{}", '{"made": 3}'])
def test_results_that_are_none_are_named_and_nothing_is_written(babi, tmp_path, capsys, text):
    (tmp_path / "results.json").write_text(text)
    weights, out = tmp_path / "weights.h5", tmp_path / "out.h5"
    weights.write_bytes(babi[3].read_bytes())
    assert main([str(weights), "--out", str(out)]) == 1 and not out.exists()
    assert "results.json: not the results of a run: " in capsys.readouterr().err
