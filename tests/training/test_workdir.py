"""A run's folder."""

import errno
import fcntl
import json
import math
import os
import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from rrn.training.workdir import Workdir

CONFIG = {
    "data_sha256": "d1",
    "config": "a.py",
    "data": {"path": "a.h5"},
    "train": {"l2": 0.1, "stages": [{"num_updates": 5}, {"num_updates": 7}]},
    "evaluate": {"split": "test"},
}


@pytest.fixture
def workdir(tmp_path):
    workdir = Workdir(tmp_path / "new" / "run")
    workdir.path.mkdir(parents=True)
    workdir.write_json("config.json", CONFIG)
    return workdir


def stages(*numbers):
    return {**CONFIG["train"], "stages": [{"num_updates": number} for number in numbers]}


@pytest.mark.parametrize(
    "free",
    [
        {},
        {"evaluate": {"split": "valid", "passes": 3}},
        {"data": {"path": "b.h5"}},
        {"config": "b.py"},
        {"train": stages(5, 9)},
        {"train": {**CONFIG["train"], "log_every_updates": 9}},
    ],
)
def test_the_same_run_resumes(workdir, free):
    workdir.check({**CONFIG, **free})


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"train": {"l2": 0.2}}, "another train.l2: 0.1 there, 0.2 wanted"),
        ({"data_sha256": "d2"}, "another data_sha256: 'd1' there, 'd2' wanted"),
        ({"train": stages(9, 7)}, "another train.stages.0.num_updates: 5 there, 9 wanted"),
        ({"train": stages(5, 6)}, "another train.stages.1.num_updates: 7 there, 6 wanted"),
        ({"train": stages(5, 7, 1)}, "another train.stages.2.num_updates: None there, 1 wanted"),
        ({"seed": 1}, "another seed: None there, 1 wanted"),
    ],
)
def test_another_run_is_an_error_that_names_the_first_field(workdir, other, said):
    with pytest.raises(ValueError, match=said) as error:
        workdir.check({**CONFIG, **other})
    assert str(workdir.path) in str(error.value) and "--restart" in str(error.value)


def test_a_config_that_is_damaged_is_named(workdir):
    (workdir / "config.json").write_text('{"train"')
    with pytest.raises(ValueError, match=r"config\.json: not JSON: .*another --workdir"):
        workdir.check(CONFIG)


def test_json_appears_whole_or_not_at_all(workdir, monkeypatch):
    workdir.write_json("results.json", {"a": 1})
    with pytest.raises(TypeError):
        workdir.write_json("results.json", {"a": 2, "b": object()})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        workdir.write_json("results.json", {"a": 3})
    assert json.loads((workdir / "results.json").read_text()) == {"a": 1}
    assert sorted(os.listdir(workdir.path)) == ["config.json", "results.json"]


def test_numbers_that_are_not_finite_are_null(workdir):
    value = {"a": [1.0, math.nan], "b": (math.inf, -math.inf, 2)}
    workdir.write_json("results.json", value)
    workdir.append("metrics.jsonl", {"update": 1, **value})
    expected = {"a": [1.0, None], "b": [None, None, 2]}
    assert json.loads((workdir / "results.json").read_text()) == expected
    assert workdir.metrics() == [{"update": 1, **expected}]


def test_a_folder_that_is_locked_is_refused_until_its_process_is_gone(tmp_path):
    workdir = Workdir(tmp_path / "run")
    workdir.path.mkdir()
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'w'); print('7', file=file, flush=True)"
    )
    code += "\nfcntl.flock(file, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(workdir / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            message = f"^--workdir={workdir.path}: 7 trains there; "
            with pytest.raises(ValueError, match=message), workdir.locked():
                pass
        finally:
            other.kill()
    with workdir.locked():
        assert (workdir / "lock").read_text().startswith(f"process {os.getpid()} of ")
        (workdir / "lock").unlink()  # the folder is locked, too
        message = f"^--workdir={workdir.path}: another process trains there; "
        with pytest.raises(ValueError, match=message), workdir.locked():
            pass
    with workdir.locked():
        pass
    with pytest.raises(ValueError, match="lock: not a folder"), Workdir(workdir / "lock").locked():
        pass


def test_where_a_file_system_has_no_locks_that_is_said(workdir, monkeypatch, capsys):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with workdir.locked():
        said = f"{workdir.path}: no lock (No locks available); start no second process there\n"
        assert capsys.readouterr().out == said


@pytest.mark.parametrize("end", [b"", b'{"update": 11, "lo', b"\0\0\0\0"])
def test_metrics_after_the_last_checkpoint_and_a_cut_line_are_dropped(workdir, end):
    workdir.keep_metrics_until(0)
    assert workdir.metrics() == []
    for update in (5, 10, 10, 12):
        workdir.append("metrics.jsonl", {"update": update})
    with (workdir / "metrics.jsonl").open("ab") as file:
        file.write(end)
    workdir.keep_metrics_until(10)
    workdir.append("metrics.jsonl", {"update": 11})
    assert workdir.metrics() == [{"update": update} for update in (5, 10, 10, 11)]


def test_a_damaged_line_is_named(workdir):
    (workdir / "metrics.jsonl").write_bytes(b'{"update": 1}\n{"upd\xff\n{"update": 2}\n')
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 2: "):
        workdir.metrics()


def test_figures(workdir):
    paths = workdir.save_figures({"errors": Figure(), "steps": Figure()})
    assert paths == [workdir.path / "figures" / f"{name}.png" for name in ("errors", "steps")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_an_old_run_is_set_aside_whole(workdir):
    workdir.append("metrics.jsonl", {"update": 1})
    with workdir.locked():
        assert workdir.set_aside() == workdir / "earlier-1"
        assert workdir.set_aside() is None
        workdir.write_json("config.json", {})
        assert workdir.set_aside() == workdir / "earlier-2"
    assert sorted(os.listdir(workdir.path)) == ["earlier-1", "earlier-2", "lock"]
    assert sorted(os.listdir(workdir / "earlier-1")) == ["config.json", "metrics.jsonl"]
    assert json.loads((workdir / "earlier-1" / "config.json").read_text()) == CONFIG
