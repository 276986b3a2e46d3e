"""Files and folders that appear whole or not at all."""

import errno
import multiprocessing
import os

import pytest

from rrn.data_prep.failures import error_line
from rrn.data_prep.writing import MACHINE, whole, writing


def test_a_full_disk_is_said_with_the_file_that_was_written(tmp_path):
    with pytest.raises(OSError) as raised, writing(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    line = error_line(raised.value)
    assert line.startswith(f"error: {tmp_path}/file: No space left on device; make room there")
    with pytest.raises(FileNotFoundError, match="other"), writing(tmp_path / "file"):
        (tmp_path / "other").read_text()


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
            assert temporary.parent == tmp_path and str(os.getpid()) in temporary.name
    assert read(tmp_path / "target") == read(tmp_path / "expected")
    assert sorted(os.listdir(tmp_path)) == ["expected", "target"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failure_leaves_what_is_there_and_nothing_beside_it(
    tmp_path, kind, monkeypatch, there, failing
):
    """Of the context, or of a call of the system that gives something its name."""
    make, read = kind
    if there:
        make(tmp_path / "target", "old")
        expected = read(tmp_path / "target")
    calls, replace = [], os.replace

    def interrupted(*paths):
        calls.append(paths)
        if len(calls) == failing:
            raise KeyboardInterrupt
        return replace(*paths)

    monkeypatch.setattr(os, "replace", interrupted)
    try:
        with whole(tmp_path / "target") as temporary:
            make(temporary, "new")
            if not failing:
                raise KeyboardInterrupt
        assert failing > len(calls)  # nothing has failed
        assert read(tmp_path / "target") != there and os.listdir(tmp_path) == ["target"]
    except KeyboardInterrupt:
        assert os.listdir(tmp_path) == ["target"] * there
        assert not there or read(tmp_path / "target") == expected


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_kill_loses_nothing(tmp_path, monkeypatch, moment):
    """Before anything has its name, and after the earlier folder has gone aside."""
    make_folder(tmp_path / "target", "old")

    def killed():
        calls, replace = [], os.replace

        def call(*paths):
            calls.append(paths)
            if moment == "before" or len(calls) == 3:
                os._exit(9)
            return replace(*paths)

        os.replace = call
        with whole(tmp_path / "target") as temporary:
            make_folder(temporary, "new")

    process = multiprocessing.get_context("fork").Process(target=killed)
    process.start()
    process.join()
    assert process.exitcode == 9
    (old,) = (path for path in tmp_path.iterdir() if path.suffix != ".tmp")
    assert old.suffix == {"before": "", "between": ".old"}[moment]
    assert read_folder(old) == {"a": "old", "b": "old"}


def test_several_processes_may_write_one_folder_at_once(tmp_path):
    def write(number):
        for _ in range(20):
            with whole(tmp_path / "target") as temporary:
                make_folder(temporary, str(number))

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write, args=(number,)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["target"]
    assert len({*read_folder(tmp_path / "target").values()}) == 1


def test_errors_name_the_target(tmp_path):
    (tmp_path / "target").mkdir()
    with pytest.raises(IsADirectoryError) as raised, whole(tmp_path / "target") as temporary:
        temporary.write_text("a file")
    assert error_line(raised.value).startswith(f"error: {tmp_path}/target: Is a directory")
    with pytest.raises(FileNotFoundError) as raised, whole(tmp_path / "none/file") as temporary:
        temporary.write_text("")
    assert error_line(raised.value).startswith(f"error: {tmp_path}/none/file: No such file")


def test_the_next_writer_removes_what_killed_ones_have_left(tmp_path):
    """Not what other processes still write, nor what belongs to another file or machine."""
    gone = multiprocessing.get_context("fork").Process(target=lambda: None)
    gone.start()
    gone.join()

    def beside(name, process, suffix, machine=MACHINE):
        return tmp_path / f"{name}.{process}-{machine}012345.{suffix}"

    left = [beside("target", gone.pid, suffix) for suffix in ("tmp", "old")]
    kept = [
        beside("target", os.getppid(), "tmp"),
        beside("target", gone.pid, "tmp", "other"),
        beside("targets", gone.pid, "tmp"),
        beside("target", gone.pid, "txt"),
    ]
    for path in [left[0], *kept]:
        path.write_text("half")
    make_folder(left[1], "old")
    with whole(tmp_path / "target") as temporary:
        temporary.write_text("new")
    assert {*tmp_path.iterdir()} == {tmp_path / "target", left[1], *kept}  # all of the earlier one
    with whole(tmp_path / "target") as temporary:
        temporary.write_text("new")
    assert {*tmp_path.iterdir()} == {tmp_path / "target", *kept}
