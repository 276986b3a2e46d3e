"""Weights as a folder to upload: the same arrays, what makes the model again, and a card."""

import json
import sys

import numpy as np
import pytest
import yaml
from safetensors import safe_open
from safetensors.numpy import load_file

from rrn.files.weights_file import read_weights
from rrn.models.hub import main
from tests.helpers import ROOT

BABI = ROOT / "pretrained/babi.h5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hub") / "folder"
    for _ in range(2):  # the second takes the first one's place
        assert main([str(BABI), "--out", str(path)]) == 0
    return path


def test_the_arrays_and_the_metadata_are_those_of_the_file(folder):
    weights, arrays = read_weights(BABI), load_file(folder / "model.safetensors")
    assert arrays.keys() == weights.arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, weights.arrays[name], strict=True)
    with safe_open(folder / "model.safetensors", "np") as file:
        metadata = file.metadata()
    assert metadata["task"] == "babi" and metadata["format"] == "np"
    assert json.loads(metadata["model"]) == weights.attributes["model"]
    assert (folder / "babi.h5").read_bytes() == BABI.read_bytes()
    config = json.loads((folder / "config.json").read_text())
    constants = config.pop("constants")
    assert config == weights.attributes
    assert constants == {name: array.tolist() for name, array in weights.constants.items()}


def test_the_card_has_a_head_with_licence_tags_and_results(folder):
    _, head, body = (folder / "README.md").read_text().split("---\n")
    card = yaml.safe_load(head)
    assert card["license"] == "apache-2.0" and card["library_name"] == "rrn"
    assert "babi" in card["tags"] and card["datasets"] == ["babi"]
    (model,) = card["model-index"]
    (result,) = model["results"]
    assert result["dataset"] == {"type": "babi", "name": "babi.h5", "split": "test"}
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    metrics = read_weights(BABI).attributes["results"]["metrics"]
    assert values == {name: pytest.approx(metrics[name], abs=1e-6) for name in values}
    assert values.keys() == {"error/mean", "tasks_failed", "loss"}
    assert body.startswith("# babi.h5\n") and 'rrn.load("babi.h5")' in body


def test_what_is_no_such_folder_is_left_and_a_missing_library_is_named(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "mine.txt").touch()
    assert main([str(BABI), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith(
        "is there and has no model.safetensors; name another folder\n"
    )
    assert main([str(tmp_path / "lost.h5"), "--out", str(tmp_path / "new")]) == 1
    assert "lost.h5: no such file" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    assert main([str(BABI), "--out", str(tmp_path / "new")]) == 1
    assert "error: safetensors is not installed: pip install 'rrn[hub]'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
