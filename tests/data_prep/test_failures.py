"""What fails is said in a line, and wrong options are refused before the work."""

import errno
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rrn.data_prep.__main__ import main
from rrn.data_prep.failures import error_line, escape_output, exit_status, words_of


def raised(function):
    """What the function raises."""
    try:
        function()
    except Exception as error:
        return error
    pytest.fail("nothing was raised")


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/x")
FULL_OF_TENSORFLOW = tf.errors.ResourceExhaustedError(
    None,
    None,
    "{{function_node __SaveV2_/device:CPU:0}} /x/ckpt; No space left on device [Op:SaveV2]",
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FULL, "/tmp/x: No space left on device; free some space there"),
        (FULL_OF_TENSORFLOW, "/x/ckpt: No space left on device; free some space there"),
        (raised(Path("/none").read_text), "/none: No such file or directory"),
        (raised(lambda: np.empty(2**60, np.uint8)), "memory: Unable to allocate 1.00 EiB"),
        (MemoryError(), "memory: MemoryError; a smaller batch"),
        (
            tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor\nmore"),
            "memory: OOM when allocating tensor; a smaller",
        ),
        (
            tf.errors.InvalidArgumentError(
                None,
                None,
                "Graph execution error:\n\nDetected at node x defined at (most recent call last):\n"
                '  File "/my/tasks/a.py", line 5, in loss\n\n  File "/my/rrn/nn/b.py", line 7\n\n'
                "wrong\nmore",
            ),
            'TensorFlow: InvalidArgumentError: wrong (File "/my/tasks/a.py", line 5, in loss)',
        ),
        (ValueError("a: b"), "a: b"),
        (ValueError(), "ValueError"),
        (OverflowError("too large"), "too large"),
    ],
)
def test_what_can_be_foreseen_is_one_line(error, said):
    line = error_line(error)
    assert line.startswith(f"error: {said}") and "\n" not in line


def test_what_nobody_could_foresee_keeps_its_traceback():
    for mistake in (lambda: {}["a"], lambda: None.a, lambda: [][0], lambda: "a" + 1):
        assert error_line(raised(mistake)) is None
        with pytest.raises(Exception):  # noqa: B017
            exit_status(mistake)


def test_the_exit_status(capsys):
    def fail(error):
        raise error

    assert exit_status(lambda: None) == 0
    assert exit_status(lambda: fail(ValueError("wrong"))) == 1
    assert exit_status(lambda: fail(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "error: wrong\nerror: interrupted\n"
    with pytest.raises(ValueError, match="wrong"):
        exit_status(lambda: fail(ValueError("wrong")), verbose=True)


def test_an_error_is_told_without_quotes_and_escapes():
    both = "the object 'a' is not in \"b\""
    assert words_of(KeyError(both)) == both
    assert words_of(KeyError("num_examples")) == "no entry 'num_examples'"
    assert words_of(ValueError("'a' is wrong")) == "'a' is wrong"
    assert words_of(KeyError()) == "KeyError"


def test_what_the_output_cannot_show_is_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    escape_output()
    print("caf\xe9", flush=True)
    assert written.getvalue() == b"caf\\xe9\n"


# Options


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("ages --seed -1", "--seed -1: expected a number, 0 to "),
        ("ages --valid 0", "--valid 0: expected a number, 1 to 235,929"),
        ("ages --valid 235930", "--valid 235930: expected a number, 1 to 235,929"),
        ("mnist --rendered --counts 30", "--counts 30: expected 2 numbers"),
        ("mnist --rendered --counts 30,0", "--counts 0: expected a number, 1 to"),
        ("mnist --valid 3", "one of the arguments --source --rendered is required"),
        ("pretty_clevr --scenes 10,10", "--scenes 10,10: expected 3 numbers"),
        ("pretty_clevr --scenes 10,-1,x", "--scenes -1: expected a number, 1 to 1,000,000"),
        ("pretty_clevr --images 47", "--images 47: expected a number, 48 to 1,024"),
        ("ages --out .", "--out .: expected a regular file or a new one"),
        ("ages --out pipe", "--out pipe: expected a regular file or a new one"),
        ("ages --out /dev/null", "--out /dev/null: expected a regular file or a new one"),
        ("ages --out file/new.h5", "file is no folder that can be written to"),
    ],
)
def test_wrong_options_are_named_before_the_work(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    printed = capsys.readouterr()
    assert ended.value.code == 2 and not printed.out
    assert said in printed.err and printed.err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["file", "pipe"]
