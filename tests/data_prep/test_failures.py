"""What fails is said in a line."""

import errno
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn.data_prep.failures import error_line, find_place, words_of


def raised(function):
    """What the function raises."""
    try:
        function()
    except Exception as error:
        return error
    pytest.fail("nothing was raised")


def test_what_the_output_cannot_show_is_escaped():
    code = "from rrn.data_prep.failures import escape_output; escape_output(); print('caf\\xe9')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, env=environment) == b"caf\\xe9\n"


def test_an_error_of_the_system_names_the_file(tmp_path):
    missing = tmp_path / "none"
    assert error_line(raised(missing.read_text)) == f"error: {missing}: No such file or directory"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/x")
    assert error_line(full) == (
        "error: /tmp/x: No space left on device; make room there, and give the same command again"
    )


def test_memory():
    too_large = raised(lambda: np.empty(2**60, np.uint8))
    assert error_line(too_large).startswith("error: memory: Unable to allocate 1.00 EiB")
    assert error_line(MemoryError()).startswith("error: memory: not enough; a smaller batch_size")


def test_what_h5py_raises(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["a"] = [1, 2]
    path.write_bytes(path.read_bytes().replace(b"TREE", b"TRAP"))

    def read(name):
        with h5py.File(path) as file:
            return file[name][:]

    for name in ("a", "b"):
        line = error_line(raised(lambda name=name: read(name)))
        assert line.startswith("error: HDF5: ") and "\n" not in line


def test_an_error_is_told_without_quotes_and_escapes():
    both = "the object 'a' is not in \"b\""
    assert words_of(KeyError(both)) == both
    assert words_of(KeyError("num_examples")) == "no entry 'num_examples'"
    assert words_of(ValueError("'a' is wrong")) == "'a' is wrong"
    assert words_of(KeyError()) == "KeyError"


def test_what_tensorflow_raises():
    line = error_line(raised(lambda: tf.reshape(tf.zeros([3]), [2])))
    assert line.startswith("error: TensorFlow: InvalidArgumentError: ") and "\n" not in line
    exhausted = tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor\nmore")
    assert error_line(exhausted).startswith("error: memory: OOM when allocating tensor; a smaller")
    said = "{{function_node __SaveV2_/device:CPU:0}} /x/ckpt; No space left on device [Op:SaveV2]"
    full = tf.errors.ResourceExhaustedError(None, None, said)
    assert error_line(full).startswith("error: /x/ckpt: No space left on device; make room there")


def test_further_lines_are_indented():
    assert error_line(ValueError("a:\n  b\nc")) == "error: a:\n  b\n  c"
    assert error_line(ValueError()) == "error: ValueError"


def test_what_nobody_could_foresee_keeps_its_traceback():
    for mistake in (lambda: {}["a"], lambda: None.a, lambda: [][0], lambda: "a" + 1):
        assert error_line(raised(mistake)) is None


def test_the_place_is_in_the_users_file_whatever_has_wrapped_the_error(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("import json\n\ndef wrong():\n    return json.loads('{')\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)

    def wrap():
        try:
            names["wrong"]()
        except ValueError as error:
            raise TypeError("wrapped") from error

    assert find_place(raised(names["wrong"]), __file__) == f"{file}:4"
    assert find_place(raised(wrap), __file__) == f"{file}:4"
    assert find_place(raised(lambda: int("a")), __file__) is None
    syntax = raised(lambda: compile("a b", "that.py", "exec"))
    assert find_place(syntax, __file__) == "that.py:1"
