"""Files and folders that appear whole or not at all."""

import errno
import os

import pytest

from rrn.data_prep.failures import error_line
from rrn.data_prep.writing import check_path, whole, writing


def make_folder(path, text):
    path.mkdir()
    for name in "ab":
        (path / name).write_text(text)


def read_folder(path):
    return {file.name: file.read_text() for file in path.iterdir()}


@pytest.fixture(params=["file", "folder"])
def kind(request):
    """(how to write it, how to read it)."""
    return {
        "file": (lambda path, text: path.write_text(text), lambda path: path.read_text()),
        "folder": (make_folder, read_folder),
    }[request.param]


def test_what_is_there_is_replaced_by_what_is_whole(tmp_path, kind):
    make, read = kind
    make(tmp_path / "expected", "new")
    for text in "old", "new":
        with whole(tmp_path / "target") as temporary:
            make(temporary, text)
            assert temporary.parent == tmp_path and temporary.suffix == ".part"
    assert read(tmp_path / "target") == read(tmp_path / "expected")
    assert sorted(os.listdir(tmp_path)) == ["expected", "target"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("failing", ["the context", "fsync"])
def test_a_failure_leaves_what_is_there_and_nothing_beside_it(
    tmp_path, kind, monkeypatch, there, failing
):
    make, read = kind
    if there:
        make(tmp_path / "target", "old")
        expected = read(tmp_path / "target")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt), whole(tmp_path / "target") as temporary:
        make(temporary, "new")
        if failing == "the context":
            raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["target"] * there
    assert not there or read(tmp_path / "target") == expected


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with whole(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe: a device or a pipe"), whole(tmp_path / "pipe"):
        pytest.fail("the work is done before")
    assert (tmp_path / "pipe").is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_errors_name_the_target(tmp_path):
    with pytest.raises(OSError) as raised, writing(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    said = f"error: {tmp_path}/file: No space left on device; free some space"
    assert error_line(raised.value).startswith(said)
    (tmp_path / "target").mkdir()
    with pytest.raises(IsADirectoryError) as raised, whole(tmp_path / "target") as temporary:
        temporary.write_text("a file")
    assert error_line(raised.value).startswith(f"error: {tmp_path}/target: Is a directory")
    with pytest.raises(FileNotFoundError) as raised, whole(tmp_path / "none/file") as temporary:
        temporary.write_text("")
    assert error_line(raised.value).startswith(f"error: {tmp_path}/none/file: No such file")


def test_names_that_tensorflow_reads_as_patterns_are_refused(tmp_path, monkeypatch):
    check_path("--workdir", tmp_path / "a-b_c.d, e")
    for character in "[]*?\\":
        with pytest.raises(ValueError, match=rf"reads \{character} as part of a pattern"):
            check_path("--workdir", tmp_path / f"a{character}b" / "c")
    (tmp_path / "a[1]").mkdir()
    monkeypatch.chdir(tmp_path / "a[1]")
    with pytest.raises(ValueError, match="--workdir=c: TensorFlow reads"):
        check_path("--workdir", "c")
