"""Towers that wait for each other against towers that do not: error and speed on bAbI.

    python -m benchmarks.babi_towers [--devices cpu:2] [--updates 1500]

main.py trains `configs/babi.py` twice, with --sync and with --nosync. An
update is of one batch either way, so both read as many questions. The two runs take turns: one is
stopped (SIGSTOP) while the other continues, so that both meet the same state of a shared machine.
Rates are of the turns in which both trained, and by processor time as well.

Prints, for each: questions a second, questions for each second of processor time, the mean and the
largest staleness, the error on `--examples` questions of the test split.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import harness
from rrn.training.workdir import Workdir

ROOT = Path(__file__).resolve().parents[1]
TURN_SECONDS = 15.0
POLL_SECONDS = 0.05
START_SECONDS = 600.0  # in which a run must have made its first updates
SETTINGS = {
    "train.batch_size": 128,
    "train.learning_rate": 1e-3,
    "model.compute_dtype": "float32",
    "train.log_every_updates": 25,
    "train.validation_examples": 2_000,
}


class Run:
    """One run of main.py that continues only within its turns."""

    def __init__(self, way, arguments):
        self.folder, self.updates = arguments.out / way, arguments.updates
        self.counted = np.zeros(3)  # updates, seconds, processor seconds
        fields = {
            **SETTINGS,
            "train.num_updates": arguments.updates,
            "train.evaluate_every_updates": arguments.updates,
            "evaluate.examples": arguments.examples,
        }
        command = [sys.executable, "main.py", "--config=configs/babi.py", f"--{way}"]
        command += [f"--devices={arguments.devices}", f"--workdir={self.folder}"]
        command += [f"--config.{field}={value}" for field, value in fields.items()]
        print(" ".join(command[1:]), flush=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        with open(arguments.out / f"{way}.txt", "w") as output:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)

    def lines(self):
        """Its training lines of metrics.jsonl up to now."""
        return [line for line in Workdir(self.folder).metrics() if "split" not in line]

    def update(self):
        """The number of updates that it has told of."""
        lines = self.lines()
        return lines[-1]["update"] if lines else 0

    def wait_for_first_updates(self):
        deadline = time.monotonic() + START_SECONDS
        while not self.update():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.folder} did not begin: see the .txt beside it")
            time.sleep(POLL_SECONDS)

    def take_turn(self):
        """Continues for a while: (updates, seconds, processor seconds), None at the end."""
        before, then, cpu = self.update(), time.monotonic(), self._cpu_seconds()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(TURN_SECONDS)
        if self.update() >= self.updates or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGSTOP)
        return self.update() - before, time.monotonic() - then, self._cpu_seconds() - cpu

    def _cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def result(self):
        """What the run has measured and reached, by the columns of the table."""
        lines = self.lines()
        batch_size = json.loads((self.folder / "config.json").read_text())["train"]["batch_size"]
        metrics = json.loads((self.folder / "results.json").read_text())["metrics"]
        updates, seconds, cpu_seconds = self.counted
        return {
            "questions/s": updates * batch_size / seconds,
            "by processor time": updates * batch_size / cpu_seconds,
            "staleness": sum(line.get("staleness", 0) for line in lines) / len(lines),
            "largest": max(line.get("staleness_max", 0) for line in lines),
            "mean error, %": metrics["error/mean"],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--devices", default="cpu:2")
    parser.add_argument("--updates", type=int, default=1_500)
    parser.add_argument("--examples", type=int, default=0, help="of the test split; 0: all")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "babi_towers")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"--out: {arguments.out} is there already; give another")
    runs = {}
    try:
        for way in ("sync", "nosync"):
            runs[way] = Run(way, arguments)
            runs[way].wait_for_first_updates()
            runs[way].process.send_signal(signal.SIGSTOP)
        while all(turns := [run.take_turn() for run in runs.values()]):
            for run, turn in zip(runs.values(), turns, strict=True):
                run.counted += np.array(turn)
        for run in runs.values():
            run.process.send_signal(signal.SIGCONT)
            run.process.wait()
    finally:
        for run in runs.values():
            run.process.kill()
    results = {way: run.result() for way, run in runs.items()}
    harness.write_json(arguments.out / "results.json", results)
    print(harness.hardware())
    rows = [[f"--{way}", *(f"{v:.2f}" for v in row.values())] for way, row in results.items()]
    harness.print_table(["", *results["sync"]], rows)


if __name__ == "__main__":
    harness.start(main)
