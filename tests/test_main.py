"""The program, in processes of its own."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import h5py
import pytest

from rrn.data_prep import hdf5
from rrn.files.weights_file import Weights, write_weights
from tests.program import LIMIT, command, read_json, run_anew, succeed

# Training, evaluating, listing variables


@pytest.fixture(scope="module")
def trained(small_babi_h5, tmp_path_factory):
    """(the folder of a run on two devices, its command, what it printed)."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    rate = "--config.train.learning_rate=0.005"
    arguments = command(small_babi_h5, rate, "--workdir", workdir, devices="cpu:2")
    return workdir, arguments, succeed(arguments)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_training_writes_every_documented_file(trained):
    workdir, _, out = trained
    files = ["config.json", "lock", "metrics.jsonl", "results.json", "variables.json", "weights.h5"]
    files += ["checkpoints", "events", "figures", "report.html"]
    assert sorted(os.listdir(workdir)) == sorted(files)
    page = (workdir / "report.html").read_text(encoding="utf-8")
    assert "mean error" in page and page.count("data:image/png") == 1
    assert '"title": "wrong answers, %"' in page and "Strength is not relevance" in page
    assert '"Task 3: three supporting facts"' in page and "objectives.0.learning_rate" in page

    config = read_json(workdir / "config.json")
    assert config["config"] == "configs/babi.py:test" and config["task"] == "babi"
    (stage,) = config["train"]["stages"]
    assert stage["objectives"][0]["learning_rate"] == 0.005 and config["model"]["hidden_size"] == 16

    lines = [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    assert [line["update"] for line in training] == [5, 10, 15, 20]
    for line in training:
        assert {"seconds", "examples_per_second", "loss", "gradient_norm"} < line.keys()
        assert line["learning_rate"] == pytest.approx(0.005)
        assert len(line["accuracy_by_step"]) == 2 and len(line["accuracy_by_task"]) == 20
    (valid,) = (line for line in lines if "split" in line)
    assert valid["split"] == "valid" and valid["update"] == 20
    assert {"seconds", "mean_loss", "error/mean", "error/task_02", "tasks_failed"} < valid.keys()

    results = read_json(workdir / "results.json")
    names = {"config", "data", "split", "examples", "metrics", "by_step", "notes", "made"}
    names.add("examples_by_group")
    assert results.keys() == names and results["data"] == config["data"]["path"]
    assert results["config"] == "configs/babi.py:test" and results["split"] == "test"
    assert results["examples"] == sum(results["examples_by_group"].values()) == 45
    assert "2 two supporting facts" in results["examples_by_group"]
    assert (
        results["made"]["validation"]["best_error"]
        == valid["validation_error"]
        == valid["error/mean"]
    )
    assert results["metrics"].keys() == results["by_step"].keys()
    for name, value in results["metrics"].items():
        assert len(results["by_step"][name]) == 2 and results["by_step"][name][-1] == value

    with h5py.File(workdir / "weights.h5") as file:
        assert file.attrs["config"] == "configs/babi.py:test" and file.attrs["update"] == 20
        assert file.attrs["validation_error"] == valid["error/mean"] > 0
        names = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
    rows = read_json(workdir / "variables.json")
    variables = [name for name in names if not name.startswith("constants/")]
    assert [row["name"] for row in rows] == sorted(variables)
    keys = {"name", "shape", "dtype", "bytes", "device", "readers", "stages"}
    for row in rows:
        assert row.keys() == keys and row["readers"] == {"tower 0": 1, "tower 1": 1}

    figures = ["curves.png", "error_by_task.png"]
    assert sorted(os.listdir(workdir / "figures")) == figures
    for name in figures:
        assert (workdir / "figures" / name).read_bytes().startswith(b"\x89PNG")
    assert list((workdir / "events").glob("events.out.tfevents.*"))
    checkpoints = {p.relative_to(workdir).as_posix() for p in workdir.rglob("*.index")}
    assert checkpoints == {f"checkpoints/last/ckpt-{update}.index" for update in (10, 20)}
    assert "update 20/20" in out and "mean error" in out and "45 examples" in out


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_a_trained_run_is_evaluated_and_not_trained_again(trained, small_babi_h5, tmp_path):
    workdir, arguments, _ = trained
    metrics = (workdir / "metrics.jsonl").read_text()
    weights, results = (workdir / "weights.h5").read_bytes(), read_json(workdir / "results.json")
    (workdir / "results.json").unlink()
    flags = ["--mode=evaluate", "--weights", workdir / "weights.h5", "--workdir", tmp_path]
    evaluate = command(small_babi_h5, *flags)
    with ThreadPoolExecutor() as pool:
        again, evaluated = pool.map(succeed, (arguments, evaluate))
    assert "update" not in again and "mean error" in again
    assert (workdir / "metrics.jsonl").read_text() == metrics
    assert (workdir / "weights.h5").read_bytes() == weights
    made_again = read_json(workdir / "results.json")
    assert made_again.pop("made")["update"] == results.pop("made")["update"]
    assert made_again == results
    # The weights alone give the same in another folder, on another number of devices.
    assert "mean error" in evaluated
    assert sorted(os.listdir(tmp_path)) == sorted(["figures", "report.html", "results.json"])
    elsewhere = read_json(tmp_path / "results.json")
    assert elsewhere["metrics"] == pytest.approx(results["metrics"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_variables_mode_prints_each_variable_once(trained, small_babi_h5, tmp_path):
    arguments = command(small_babi_h5, "--mode=variables", "--workdir", tmp_path, devices="0,1,2")
    lines = succeed(arguments).splitlines()
    names = [row["name"] for row in read_json(trained[0] / "variables.json")]
    _, *variables, total = lines[: len(names) + 2]
    assert [line.split()[0] for line in variables] == names
    for line in variables:
        assert line.endswith("CPU:0   tower 0 1, tower 1 1, tower 2 1")
    assert total.startswith(f"{len(names)} variables")
    # Of its own each tower has states on its device, and inputs and encodings on the CPU.
    own = {
        (line.split()[1], line.split()[2]): line.split()[-1] for line in lines if "tower" in line
    }
    for i in range(3):
        assert own[str(i), "step_1/hidden"] == f"CPU:{i}"
        assert own[str(i), "encodings/facts"] == own[str(i), "inputs/question"] == "CPU:0"
    rows = read_json(tmp_path / "activations.json")
    assert {row["name"] for row in rows} > {"step_1/hidden", "step_2/hidden", "loss"}
    assert lines[-1] == f"graph of an update: tensorboard --logdir {tmp_path}/events"
    assert [row["name"] for row in read_json(tmp_path / "variables.json")] == names


# What is wrong is said in one line


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with config files that cannot be executed, and with a file of another schema."""
    folder = tmp_path_factory.mktemp("files")
    hdf5.write(folder / "other.h5", {}, {"schema": "sudoku", "version": 1})
    configs = {
        "raises": "def get_config():\n    raise ValueError('not so')\n",
        "a b": "raise OSError('half')\n",
        "divides": "def get_config():\n    half = 1 / 2\n    return half / 0\n",
        "imports": "import nothing_there\n",
        "opens": "def get_config():\n    return open('/nothing/there')\n",
        "syntax": "def get_config(:\n",
        "none": "def get_config():\n    return None\n",
        "empty": "",
        "exits": "def get_config():\n    exit('done')\n",
        "zeros": "\0",
        "frozen": "from configs import babi\n\ndef get_config():\n    config = babi.get_config()\n"
        "    config.train.batch_size = 1\n",
        "field": "from configs import babi\nfrom rrn.config import replace\n\ndef get_config():\n"
        "    return replace(babi.get_config(), train={'rate': 1})\n",
        "key": "def get_config():\n    return {}['num_examples']\n",
        "value": "from rrn.config import Muon\n\ndef get_config():\n    return Muon(exclude=3)\n",
    }
    for name, text in configs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "text.h5").write_text("no HDF5")
    for name in "run", "evaluated":
        (folder / name).mkdir()
        (folder / name / "config.json").write_text('{"train": {"stages": [{"num_updates": 70}]}}')
    write_weights(Weights(str(folder / "evaluated" / "weights.h5"), {}, {}, {}))
    return folder


# Case -> flags, exit status, what the line says
WRONG = {
    "variant": (
        ["--config=configs/babi.py:nonsense"],
        *(1, ["variants are plain, quick, hour, small, gpu", "'nonsense'"]),
    ),
    "config file": (["--config=configs/nothing.py"], 1, ["no file configs/nothing.py"]),
    "config raises": (["--config={files}/raises.py"], 1, ["not so (raised in {files}/raises.py:2"]),
    "config divides": (["--config={files}/divides.py"], 1, ["division by zero", "divides.py:3"]),
    "config spaced": (["--config", "{files}/a b.py"], 1, ["--config={files}/a b.py: ", "half"]),
    "config imports": (["--config={files}/imports.py"], 1, ["nothing_there", "imports.py:1"]),
    "config opens": (["--config={files}/opens.py"], 1, ["'/nothing/there'", "opens.py:2"]),
    "config's syntax": (["--config={files}/syntax.py"], 1, ["invalid syntax", "syntax.py:1"]),
    "config frozen": (["--config={files}/frozen.py"], 1, ["frozen", "frozen.py:5"]),
    "config's field": (["--config={files}/field.py"], 1, ["train.rate: no such", "field.py:5"]),
    "config's value": (["--config={files}/value.py"], 1, ["Muon: exclude: expected a", "got 3"]),
    "config's key": (
        ["--config={files}/key.py"],
        1,
        ["no entry 'num_examples' (raised in {files}/key"],
    ),
    "config exits": (["--config={files}/exits.py"], 1, ["done (raised in {files}/exits.py:2"]),
    "config's bytes": (["--config={files}/zeros.py"], 1, ["{files}/zeros.py: ", "null bytes"]),
    "no config": (["--config={files}/none.py"], 1, ["get_config gave a NoneType"]),
    "no get_config": (["--config={files}/empty.py"], 1, ["no get_config in it"]),
    "flag": (["--mode=dance"], 2, ["--mode=dance", "train|evaluate|variables|export"]),
    "unknown flag": (["--dance"], 2, ["Unknown command line flag 'dance'"]),
    "argument": (["dance"], 2, ["unexpected arguments: dance"]),
    "field's value": (
        ["--config.train.batch_size=many"],
        2,
        ["train.batch_size: expected a valid integer, got 'many'"],
    ),
    "task": (["--config.task=nonsense"], 2, ["task: no such field; fields are model, seed, "]),
    "no value": (["--config.seed"], 2, ["--config.seed: has no value; expected --config.seed=VAL"]),
    "dtype": (["--config.model.compute_dtype=float8"], 2, ["model.compute_dtype", "'float8'"]),
    "size": (["--config.model.hidden_size=0"], 2, ["model.hidden_size: expected a number greater"]),
    "field": (["--config.train.nonsense=1"], 2, ["no such field", "nonsense"]),
    "stage": (["--config.train.stages[1].num_updates=1"], 2, ["train.stages[1]: no such item"]),
    "field of the default": (None, 2, ["no such field", "nonsense"]),
    "devices": (["--devices=tpu"], 1, ["--devices=tpu: expected auto, cpu, cpu:N, gpu, gpu:N or"]),
    "towers": (["--devices=cpu:1000"], 1, ["--devices=cpu:1000: expected at most 256 towers"]),
    "logical GPUs": (["--devices=gpu:257"], 1, ["--devices=gpu:257: expected at most 256 towers"]),
    "device twice": (["--devices=0,1,00"], 1, ["--devices=0,1,00: a device is named twice"]),
    "data": (
        ["--config.data.path=none.h5"],
        1,
        ["no such file; `python -m data_prep babi "],
    ),
    "no HDF5": (
        ["--config.data.path={files}/text.h5"],
        1,
        ["text.h5: it does not begin with"],
    ),
    "folder": (["--config.data.path={files}"], 1, ["{files}: not a file"]),
    "schema": (["--config.data.path={files}/other.h5"], 1, ["('sudoku', 1)", "('babi', 1)"]),
    "schedule": (
        ["--config.train.schedule=line"],
        *(2, ["train.stages[0].objectives[0].schedule: expected one of", "'line'"]),
    ),
    "policy": (["--config.variables.policy=gpu"], 2, ["variables.policy", "'gpu'"]),
    "weights": (["--mode=evaluate", "--weights=none.h5"], 1, ["none.h5: no such file"]),
    "no weights": (
        ["--weights={files}/text.h5"],
        1,
        ["text.h5: it does not begin with"],
    ),
    "no name": (["--weights="], 2, ["--weights=: empty; give a value, or leave the flag out"]),
    "another run's": (
        ["--mode=evaluate", "--workdir={files}/evaluated"],
        *(1, ["{files}/evaluated holds a run of another config", "train.stages.0.num_updates: 7"]),
    ),
    "untrained": (["--mode=evaluate"], 1, ["weights.h5: no such file; a run writes it"]),
    "number": (
        ["--config.train.clip_norm=-1"],
        *(2, ["clip_norm: expected a number greater than or equal to 0, got -1"]),
    ),
    "another's": (
        ["--config.train.schedule.decay_updates=7"],
        *(2, ["schedule.decay_updates: no such field; fields are warmup_updates, kind"]),
    ),
    "data of a model with a list": (  # of which one item is given
        [
            *("--config=configs/completion.py:test", "--config.model.hole[0]=0.3"),
            "--config.data.path=none.h5",
        ],
        *(1, ["none.h5: no such file"]),
    ),
    "evaluated data": (["--config.evaluate.path=none.h5"], 1, ["none.h5: no such file"]),
    "one device": (["--nosync", "--devices=3"], 1, ["--nosync: --devices=3 is one device"]),
    "no cluster": (["--replicas_to_aggregate=1"], 1, ["is for clusters: --local_cluster"]),
    "cluster": (["--local_cluster=ps=1"], 1, ["--local_cluster=ps=1: expected ps=N,worker=M"]),
    "no servers": (["--local_cluster=worker=1", "--nosync"], 1, ["needs parameter servers"]),
    "replicas": (
        ["--local_cluster=ps=1,worker=2", "--replicas_to_aggregate=257"],
        *(1, ["--replicas_to_aggregate=257: expected 1 to 256, and --sync"]),
    ),
    "profile": (["--profile=-1"], 1, ["--profile=-1: expected 0 to 1,000 updates; 0 is none"]),
    "profile's mode": (["--profile=5", "--mode=variables"], 1, ["--mode=variables has none"]),
    "profiled cluster": (["--profile=5", "--local_cluster=worker=1"], 1, ["a cluster has none"]),
    "timeout": (["--startup_timeout=nan"], 1, ["--startup_timeout=nan: expected above 0"]),
    "no folder": (["--workdir={files}/text.h5"], 1, ["--workdir={files}/text.h5: not a folder"]),
    "workdir": (["--workdir={files}/run"], 1, ["another config", "train.stages.0.num_updates: 7"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(case, files, small_babi_h5, tmp_path):
    flags, status, said = WRONG[case]
    if flags is None:
        arguments = ["main.py", "--config.train.nonsense=1"]
    else:
        flags = [flag.format(files=files) for flag in flags]
        if not any(flag.startswith("--workdir") for flag in flags):
            flags.append(f"--workdir={tmp_path / 'run'}")
        if any(flag.startswith("--config=") for flag in flags):
            arguments = ["main.py", *flags]
        elif any(flag.startswith(("--local_cluster", "--devices")) for flag in flags):
            arguments = command(small_babi_h5, *flags, devices="auto")
        else:
            arguments = command(small_babi_h5, *flags)
    found, out, err = run_anew(arguments)
    assert found == status, err
    lines = err.splitlines()
    (place,) = (i for i, line in enumerate(lines) if line.startswith("error: "))
    for part in said:
        assert part.format(files=files) in "\n".join(lines[place:])
    # Differing fields are listed below the line; nothing else follows it.
    assert out == "" and all(line.startswith("  ") for line in lines[place + 1 :])
    assert not (tmp_path / "run").exists()


def test_with_verbosity_an_error_shows_where_it_was_raised(files, small_babi_h5):
    wrong = command(small_babi_h5, "--config.model.hidden_size=0", "--verbosity=1")
    status, _, err = run_anew(wrong)
    assert status == 1 and "Traceback" in err and "hidden_size: expected a number" in err
    status, _, err = run_anew(["main.py", f"--config={files}/divides.py", "-v=1"])
    assert status == 1 and "Traceback" in err and "ZeroDivisionError" in err
