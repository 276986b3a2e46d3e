"""What each parameter server sends and gets for an update, by placement policy, in real processes.

    python -m benchmarks.parameter_servers --workers 7 --ps 2 --models mnist_cnn,vgg19 \
        --policies round_robin,fixed_shards,balanced [--sync] [--set train.batch_size=16]

A model is a file of configs/, or FILE:VARIANT. For every model and policy main.py trains on a local
cluster for `--updates` updates, and evaluates the weights on the test split. Bytes are the kernel's
counts of each server's TCP connections (`benchmarks.parameter_servers_sockets`) between two lines
of its metrics.jsonl, over the updates between them. Beside them stand the bytes computed from
variables.json: for an update a worker reads each shard once, and sends as many bytes of gradients;
with --sync every worker does.

All processes share this machine's cores and its loopback device, which is no bottleneck, so that
the updates a second are its cores'; `benchmarks.parameter_servers_model` reckons with networks.
For that, each model is also trained by one process alone.

`--out` gets results.json, table.md, bytes.png, curves.png, and the runs' own folders and output.
"""

import argparse
import importlib
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks import harness
from benchmarks.parameter_servers_sockets import tcp_bytes
from rrn.distribute import plan_placement
from rrn.files.data import read_prepared
from rrn.settings import change
from rrn.tasks import create_task
from rrn.training.workdir import Workdir

ROOT = Path(__file__).resolve().parents[1]
# What makes a model small enough for seven workers on two cores and 24 GB.
SETTINGS = {
    "mnist_cnn": {"train.batch_size": 32},
    "mnist_cnn:article": {"train.batch_size": 128},
    "vgg19": {"train.batch_size": 8, "model.input_size": 32},
    "vgg19:quick": {"train.batch_size": 16},
}
# Some minutes on two cores.
UPDATES = {"mnist_cnn": 1000, "mnist_cnn:article": 1200, "vgg19": 200, "vgg19:quick": 700}
POLL_SECONDS = 0.02
NEVER = 10**9  # the study ends a run with SIGINT, when it has seen enough


def main():
    arguments = parse_arguments()
    try:
        models = {name: describe_model(name, arguments.set) for name in arguments.models}
    except (KeyError, TypeError, ValueError) as error:  # no data, or a --set that does not fit
        sys.exit(f"parameter_servers: {error}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and the run with it
    arguments.out.mkdir(parents=True)
    study = {
        "hardware": harness.hardware(),
        "workers": arguments.workers,
        "ps": arguments.ps,
        "sync": arguments.sync,
        "policies": arguments.policies,
        "models": models,
    }
    for name, model in models.items():
        settings, updates = model["settings"], arguments.updates or UPDATES[name]
        alone = train(name, settings, [], arguments, "alone", min(updates, 100))
        model["compute_seconds"] = 1.0 / alone["updates_per_second"]
        model["runs"] = {}
        for policy in arguments.policies:
            flags = cluster_flags(policy, model["batch_size"], updates, arguments)
            model["runs"][policy] = train(name, settings, flags, arguments, policy, updates)
            harness.write_json(arguments.out / "results.json", study)  # a run may take long
    (arguments.out / "table.md").write_text(report(study))
    print(report(study))
    for name, figure in figures(study).items():
        figure.savefig(arguments.out / f"{name}.png", dpi=120)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    names = {"type": lambda text: text.split(",")}
    parser.add_argument("--workers", type=int, default=7)
    parser.add_argument("--ps", type=int, default=2)
    parser.add_argument("--models", default=list(SETTINGS), **names)
    parser.add_argument("--policies", default=["round_robin", "fixed_shards", "balanced"], **names)
    parser.add_argument("--sync", action="store_true", help="all workers in every update")
    parser.add_argument("--updates", type=int, help=f"of every run, at least; if not {UPDATES}")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for every run")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "parameter_servers")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="of the configs"
    )
    arguments = parser.parse_args()
    arguments.set = dict(field.split("=", 1) for field in arguments.set)
    if unknown := set(arguments.models) - set(SETTINGS):
        parser.error(f"--models: some of {', '.join(SETTINGS)} are wanted, got {unknown.pop()}")
    if arguments.out.exists():
        parser.error(f"--out: {arguments.out} is there already; give another")
    return arguments


def describe_model(model, changes):
    """{"batch_size", "settings", "notes" of its data, "variables": [[name, shape, bytes]]}."""
    settings = SETTINGS[model] | {
        "model.compute_dtype": "bfloat16",
        "train.log_every_updates": 5,
        "train.checkpoint_every_updates": NEVER,
        "train.checkpoint_every_seconds": NEVER,
        "train.evaluate_every_updates": NEVER,
        "train.validation_examples": 1_000,
        "train.num_updates": NEVER,
        **changes,
    }
    file, _, variant = model.partition(":")
    config = importlib.import_module(f"configs.{file}").get_config(variant)
    for field, value in settings.items():
        config = change(config, field, str(value))
    data = read_prepared(config.data.path)
    return {
        "batch_size": config.train.batch_size,
        "settings": settings,
        "notes": data.attributes["notes"],
        "variables": plan_placement(
            lambda: create_task(config.model, data), "first_device", ["/cpu:0"]
        ).variables,  # with the policy cpu none would be measured
    }


def cluster_flags(policy, batch_size, updates, arguments):
    """The flags of main.py for a run with servers, which ends by itself."""
    flags = [
        f"--local_cluster=ps={arguments.ps},worker={arguments.workers}",
        f"--config.variables.policy={policy}",
        f"--config.train.num_updates={updates}",
        f"--startup_timeout={arguments.timeout}",  # ten processes start on a machine's few cores
    ]
    if arguments.sync:  # the config's batch is all workers' together
        return [*flags, "--sync", f"--config.train.batch_size={batch_size * arguments.workers}"]
    # At every line of metrics the workers wait for each other: few lines.
    return [*flags, "--nosync", f"--config.train.log_every_updates={4 * arguments.workers}"]


def train(model, settings, flags, arguments, name, updates):
    """Runs main.py for at least that many updates; returns what was measured.

    "updates_per_second"; "curve": its training lines of metrics.jsonl; "servers": for each one the
    bytes of an update, {"computed": to send, and to get, "sent", "received"}; "test_accuracy":
    percent, of a run with servers. One without ends as soon as it has made its updates.
    """
    folder = arguments.out / f"{model.replace(':', '_')}_{name}"
    folder.mkdir()
    file, colon, variant = model.partition(":")
    config = f"configs/{file}.py{colon}{variant}"
    command = [sys.executable, "main.py", f"--config={config}", f"--workdir={folder}"]
    command += [*(f"--config.{field}={value}" for field, value in settings.items()), *flags]
    print(" ".join(command[1:]), flush=True)
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        try:
            samples = watch(process, folder, updates, arguments.timeout)
            if flags:
                process.wait(arguments.timeout)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
    (update, then, first), (last_update, now, last) = samples[0], samples[-1]
    between = last_update - update
    servers = []
    for before, after, load in zip(first, last, computed_bytes(folder, arguments), strict=True):
        sent, received = ((b - a) / between for a, b in zip(before, after, strict=True))
        servers.append({"computed": load, "sent": sent, "received": received})
    run = {
        "updates_per_second": between / (now - then),
        "curve": training_lines(folder),
        "servers": servers,
    }
    if flags:
        results = json.loads((folder / "results.json").read_text())
        run["test_accuracy"] = results["metrics"]["accuracy/all"]
    return run


def watch(process, folder, updates, timeout):
    """[(update, seconds, each server's byte counts)] while it trains, one for each line.

    Raises:
      RuntimeError: the run ended before its updates were done, or takes too long.
    """
    samples, deadline = [], time.monotonic() + timeout
    while len(samples) < 2 or samples[-1][0] < updates:  # rates are of what is between two
        lines = training_lines(folder)
        if lines and (not samples or lines[-1]["update"] > samples[-1][0]):
            pids = re.findall(
                r"^ps \d+ .* process (\d+)$", (folder / "output.txt").read_text(), re.M
            )
            counts = [tcp_bytes(int(pid)) for pid in pids]
            samples.append((lines[-1]["update"], time.monotonic(), counts))
        if process.poll() is not None or time.monotonic() > deadline:
            why = "takes too long" if process.returncode is None else "ended"
            raise RuntimeError(f"the run {why}; its last words are in {folder}/output.txt")
        time.sleep(POLL_SECONDS)
    return samples


def training_lines(folder):
    """The training lines of metrics.jsonl up to now."""
    return [line for line in Workdir(folder).metrics() if "split" not in line]


def computed_bytes(folder, arguments):
    """For each server, if there are any, the bytes to send, and to get, for an update."""
    loads = {}
    for row in json.loads((folder / "variables.json").read_text()):
        if server := re.search(r"/job:ps/task:(\d+)/", row["device"]):
            loads[int(server[1])] = loads.get(int(server[1]), 0) + row["bytes"]
    readers = arguments.workers if arguments.sync else 1
    return [readers * loads[server] for server in sorted(loads)]


def report(study):
    """The study in Markdown."""
    way = "synchronous" if study["sync"] else "asynchronous"
    lines = [
        f"{study['hardware']}; {study['workers']} workers, {study['ps']} servers, {way} updates.",
        "",
        "| model | policy | at the end | updates/s | server | MB an update: computed | sent | "
        "received | largest / mean |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, model in study["models"].items():
        for policy, run in model["runs"].items():
            totals = [server["sent"] + server["received"] for server in run["servers"]]
            imbalance = max(totals) * len(totals) / sum(totals)
            for i, server in enumerate(run["servers"]):
                computed = server["computed"]
                sent, received = (
                    f"{server[way] / 1e6:.2f} ({server[way] / computed - 1:+.1%})"
                    for way in ("sent", "received")
                )
                cells = [f"{computed / 1e6:.2f}", sent, received]
                rate = f"{run['updates_per_second']:.2f}"
                first = [name, policy, _end(run), rate] if i == 0 else [""] * 4
                last = f"{imbalance:.2f}" if i == 0 else ""
                lines.append("| " + " | ".join([*first, str(i), *cells, last]) + " |")
    for name, model in study["models"].items():
        parameters = sum(size for *_, size in model["variables"]) // 4
        lines += [
            "",
            f"{name}: {parameters:,} parameters, batch {model['batch_size']} a worker; "
            f"one process alone {1 / model['compute_seconds']:.2f} updates/s. {model['notes']}",
        ]
    return "\n".join(lines) + "\n"


def _end(run):
    """The last updates' loss and accuracy, and the test accuracy, in words."""
    end = run["curve"][-1]
    after = f"{end['update']} updates, {end['seconds']:.0f} s"
    trained = f"loss {end['loss']:.3f}, accuracy {end['accuracy']:.3f}"
    return f"{after}: {trained}; test {run['test_accuracy']:.2f} %"


def figures(study):
    """Draws figures by name: bytes by server, and curves over time, a row for each model."""
    count = len(study["models"])
    names = ("bytes", "curves")
    drawn = {name: Figure(figsize=(10, 3.2 * count), layout="constrained") for name in names}
    bars, curves = (drawn[name].subplots(count, 2, squeeze=False) for name in names)
    for row, (name, model) in enumerate(study["models"].items()):
        for policy, run in model["runs"].items():
            points = run["curve"]
            for axes, way in zip(bars[row], ("sent", "received"), strict=True):
                for number, server in enumerate(run["servers"]):
                    label = f"{policy.replace('_', ' ')}\n{number}"
                    axes.bar(label, server[way] / 1e6, color=f"C{number}")
                axes.set(title=f"{name}: {way} for an update", ylabel="MB")
            for axes, metric in zip(curves[row], ("loss", "accuracy"), strict=True):
                seconds = [point["seconds"] for point in points]
                axes.plot(seconds, [point[metric] for point in points], label=policy)
                axes.set(title=f"{name}, training batches", xlabel="seconds", ylabel=metric)
        curves[row][1].legend(fontsize="small")
    return drawn


if __name__ == "__main__":
    harness.start(main)
