"""A run's folder."""

import errno
import fcntl
import json
import math
import os
import subprocess
import sys

import pytest

from rrn.training.workdir import Workdir

CONFIG = {
    "config": "a.py",
    "train": {"l2": 0.1, "batch_size": 8},
    "evaluate": {"split": "test"},
}


@pytest.fixture
def workdir(tmp_path):
    workdir = Workdir(tmp_path / "new" / "run")
    workdir.create(CONFIG)
    return workdir


def changed(**train):
    return {**CONFIG, "train": {**CONFIG["train"], **train}}


def test_create_writes_the_config(workdir):
    assert json.loads((workdir / "config.json").read_text()) == CONFIG
    assert os.listdir(workdir.path) == ["config.json"]


def test_the_same_config_may_come_again(workdir):
    workdir.create(CONFIG)
    workdir.create({**CONFIG, "evaluate": {"split": "valid", "passes": 3}})
    assert json.loads((workdir / "config.json").read_text()) == CONFIG


def test_another_config_is_an_error_that_names_the_fields(workdir):
    other = changed(l2=0.2, clip_norm=1.0)
    del other["train"]["batch_size"]
    with pytest.raises(ValueError, match="holds a run of another config") as error:
        workdir.create({**other, "evaluate": {"split": "valid"}})
    assert str(workdir.path) in str(error.value)
    lines = [line.strip() for line in str(error.value).splitlines()[1:]]
    assert lines == [
        "train.batch_size: 8 there, absent wanted",
        "train.clip_norm: absent there, 1.0 wanted",
        "train.l2: 0.1 there, 0.2 wanted",
    ]
    assert json.loads((workdir / "config.json").read_text()) == CONFIG


def test_json_appears_whole_or_not_at_all(workdir, monkeypatch):
    workdir.write_json("results.json", {"a": 1})
    with pytest.raises(TypeError):
        workdir.write_json("results.json", {"a": 2, "b": object()})

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", killed)
        workdir.write_json("results.json", {"a": 3})
    assert json.loads((workdir / "results.json").read_text()) == {"a": 1}


def test_numbers_that_are_not_finite_are_null(workdir):
    value = {"a": [1.0, math.nan], "b": (math.inf, -math.inf, 2)}
    workdir.write_json("results.json", value)
    workdir.append("metrics.jsonl", {"update": 1, **value})
    expected = {"a": [1.0, None], "b": [None, None, 2]}
    assert json.loads((workdir / "results.json").read_text()) == expected
    assert workdir.metrics() == [{"update": 1, **expected}]


def test_what_cannot_be_written_leaves_no_file(workdir, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        workdir.write_json("results.json", {"a": 1})
    assert os.listdir(workdir.path) == ["config.json"]


def test_a_folder_that_is_locked_is_refused_until_its_process_is_gone(tmp_path):
    workdir = Workdir(tmp_path / "run")
    code = "import sys, time; from rrn.training.workdir import Workdir\n"
    code += "with Workdir(sys.argv[1]).locked(): print(flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(workdir.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            message = f"^--workdir={workdir.path}: process {other.pid} of .* trains there; "
            with pytest.raises(ValueError, match=message), workdir.locked():
                pass
            (workdir / "lock").unlink()
            message = message.replace(f"process {other.pid} of .*", "another process")
            with pytest.raises(ValueError, match=message), workdir.locked():
                pass
            assert os.listdir(workdir.path) == []
        finally:
            other.kill()
    with workdir.locked():
        assert (workdir / "lock").read_text().startswith(f"process {os.getpid()} of ")
    with workdir.locked():
        pass


def test_where_a_file_system_has_no_locks_that_is_said(workdir, monkeypatch, capsys):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with workdir.locked():
        said = f"{workdir.path}: no lock (No locks available); start no second process there\n"
        assert capsys.readouterr().out == said


def test_a_config_that_is_damaged_is_named(workdir):
    (workdir / "config.json").write_text('{"train"')
    with pytest.raises(ValueError, match=r"config\.json: not JSON: .*another --workdir"):
        workdir.check(CONFIG)


@pytest.mark.parametrize(
    "written",
    ["metrics.jsonl", "weights.h5", "weights_first.h5"],
)
def test_a_run_without_its_checkpoints_or_its_config_does_not_begin_anew(workdir, written):
    (workdir / written).parent.mkdir(parents=True, exist_ok=True)
    (workdir / written).write_bytes(b"")
    written = (workdir / written).name
    with pytest.raises(ValueError, match=rf"checkpoints/last: gone, .* has {written} .*--restart"):
        workdir.check_can_go_on()
    last = workdir / "checkpoints" / "last"
    last.mkdir(parents=True, exist_ok=True)
    (last / "ckpt-0.index").write_bytes(b"")
    workdir.check_can_go_on()
    (workdir / "config.json").unlink()
    with pytest.raises(ValueError, match=r"config\.json: gone, .* has ckpt-0\.index .*--restart"):
        workdir.check_can_go_on()


def lines_of(workdir):
    return [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]


def test_metrics_are_appended_as_lines(workdir):
    for update in (5, 10):
        workdir.append("metrics.jsonl", {"update": update, "by_step": [0.5, 1.0]})
    assert lines_of(workdir) == [{"update": u, "by_step": [0.5, 1.0]} for u in (5, 10)]


@pytest.mark.parametrize("end", ["", '{"update": 11, "lo', '{"update"', "\0\0\0\0"])
def test_metrics_after_the_last_checkpoint_are_dropped(workdir, end, capsys):
    for update in (5, 10, 10, 12):
        workdir.append("metrics.jsonl", {"update": update})
    with (workdir / "metrics.jsonl").open("a") as file:
        file.write(end)
    workdir.keep_metrics_until(10)
    workdir.append("metrics.jsonl", {"update": 11})
    assert lines_of(workdir) == [{"update": u} for u in (5, 10, 10, 11)]
    said = f"{workdir / 'metrics.jsonl'}: 1 lines after update 10, the last saved one, are dropped"
    assert capsys.readouterr().out == f"{said}\n"


def test_a_cut_off_line_is_dropped_though_all_others_are_kept(workdir):
    workdir.append("metrics.jsonl", {"update": 5})
    with (workdir / "metrics.jsonl").open("a") as file:
        file.write('{"update": 6, "loss": 0.')
    workdir.keep_metrics_until(5)
    assert lines_of(workdir) == [{"update": 5}]


@pytest.mark.parametrize(
    ("updates", "left_out"),
    [([1, 10**9, 3, 4], [1]), ([4, 5, 1, 6, 6], [2]), ([5, 6, 1], [2]), ([1, 2, True, 3], [2])],
)
def test_a_line_whose_update_is_out_of_order_is_left_out(workdir, capsys, updates, left_out):
    lines = [{"update": update} for update in updates]
    for line in lines:
        workdir.append("metrics.jsonl", line)
    assert workdir.metrics() == [line for i, line in enumerate(lines) if i not in left_out]
    said = capsys.readouterr().out
    assert said.count("\n") == len(left_out)
    assert all(f"line {i + 1}: damaged, left out" in said for i in left_out)


@pytest.mark.parametrize("value", ["high", [0.5, "high"], [[0.5]], {"a": "high"}])
def test_a_line_with_what_is_no_number_is_left_out(workdir, capsys, value):
    for loss in 0.5, value, [0.5, None], None:
        workdir.append("metrics.jsonl", {"update": 5, "split": "valid", "loss": loss})
    assert [line["loss"] for line in workdir.metrics()] == [0.5, [0.5, None], None]
    assert "metrics.jsonl, line 2: damaged, left out" in capsys.readouterr().out


def test_metrics_that_end_before_the_last_checkpoint_are_noticed(workdir, capsys):
    workdir.append("metrics.jsonl", {"update": 5})
    workdir.keep_metrics_until(5)
    assert capsys.readouterr().out == ""
    workdir.keep_metrics_until(10)
    assert "lines before update 10, the last saved one, are missing" in capsys.readouterr().out


def test_no_metrics_yet(workdir):
    workdir.keep_metrics_until(0)
    assert os.listdir(workdir.path) == ["config.json"]


def test_metrics_are_the_lines_that_are_whole(workdir):
    assert workdir.metrics() == []
    lines = [{"update": 1, "loss": 1.0}, {"update": 2, "split": "valid", "loss": 0.1}]
    for line in lines:
        workdir.append("metrics.jsonl", line)
    with (workdir / "metrics.jsonl").open("a") as file:
        file.write('{"update": 3, "split": "va')
    assert workdir.metrics() == lines


def test_figures(workdir):
    from matplotlib.figure import Figure

    paths = workdir.save_figures({"errors": Figure(), "steps": Figure()})
    assert paths == [workdir.path / "figures" / f"{name}.png" for name in ("errors", "steps")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_damaged_line_of_the_metrics_is_left_out_and_those_after_it_stay(workdir, capsys):
    for update in range(1, 6):
        workdir.append("metrics.jsonl", {"update": update, "loss": 0.5})
    file = workdir / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1], lines[2] = b'{"update": 2, "lo\xff\n', b"[3]\n"
    file.write_bytes(b"".join(lines) + b'{"update": 6, "cut')
    workdir.keep_metrics_until(4)
    assert [line["update"] for line in workdir.metrics()] == [1, 4]
    said = capsys.readouterr().out
    assert "metrics.jsonl, line 2: damaged, left out" in said and "line 3: damaged" in said
    assert "line 6" not in said


def test_an_old_run_is_set_aside_whole(workdir):
    workdir.append("metrics.jsonl", {"update": 1})
    with workdir.locked():
        assert workdir.set_aside() == workdir / "earlier-1"
        assert workdir.set_aside() is None
        workdir.create(changed(l2=3))
        assert workdir.set_aside() == workdir / "earlier-2"
    assert sorted(os.listdir(workdir.path)) == ["earlier-1", "earlier-2", "lock"]
    assert sorted(os.listdir(workdir / "earlier-1")) == ["config.json", "metrics.jsonl"]
    assert json.loads((workdir / "earlier-1" / "config.json").read_text()) == CONFIG
