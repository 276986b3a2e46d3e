"""What results say of how they were made."""

import types

from rrn.files.weights_file import Weights
from rrn.training.provenance import in_words, provenance, weights_in_words


def made(devices, flag, lines=(), **validation):
    setup = types.SimpleNamespace(
        machines=types.SimpleNamespace(evaluation_devices=devices),
        request=types.SimpleNamespace(devices=flag),
        report=types.SimpleNamespace(error="wrong answers, %"),
    )
    weights = Weights("weights.h5", {}, {}, {"update": 30, **validation})
    return provenance(setup, weights, lines)


def test_the_time_of_a_run_is_that_of_all_its_parts():
    """In runs of earlier versions each part counts from zero: here parts of 20, 5 and 7 seconds."""
    seconds = [10.0, 20.0, 5.0, 2.0, 7.0]
    rates = [100.0, 300.0, None, 200.0, None]  # validations have none
    lines = [
        {"update": u, "seconds": s, **({"examples_per_second": r} if r else {})}
        for u, (s, r) in enumerate(zip(seconds, rates, strict=True))
    ]
    found = made(["/device:CPU:0"], "cpu", lines)
    assert found["training_seconds"] == 32.0 and found["examples_per_second"] == 200.0
    assert found["update"] == 30
    assert "Training took 0.5 minutes, at 200 examples/s." in in_words(found)
    others = made(["/device:CPU:0"], "cpu")
    assert "training_seconds" not in others and len(in_words(others)) == 3
    damaged = [{"update": 1}, {"update": 2, "seconds": None, "examples_per_second": [1.0]}]
    assert made(["/device:CPU:0"], "cpu", [*damaged, *lines])["training_seconds"] == 32.0
    assert "training_seconds" not in made(["/device:CPU:0"], "cpu", damaged)


def test_which_weights_are_evaluated_and_which_were_the_best():
    lines = [
        {"update": update, "validation_error": error}
        for update, error in ((10, 9.0), (20, 4.0), (30, 4.0), (40, 5.0))
    ]
    lines[1:1] = [
        {"update": 15},
        {"update": 16, "validation_error": None},
    ]  # of training, and damaged
    begins = "The weights of update 30 were evaluated."

    def said(lines, **validation):
        return weights_in_words(made(["/device:CPU:0"], "cpu", lines, **validation))

    assert said(lines) == begins
    known = f"{begins} Their validation has wrong answers: 4 %"
    assert said([], validation_error=4.0) == f"{known}."
    assert said(lines, validation_error=4.0) == f"{known}, the best of 4 validations."
    assert said(lines[:4], validation_error=4.0) == (
        f"{known}; the best of 2 validations has 4 %, at 20."
    )
    assert said(lines, update=None) == ""
