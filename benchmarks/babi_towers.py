"""Towers that wait for each other against towers that do not: error and speed on bAbI.

    python -m benchmarks.babi_towers [--devices cpu:2] [--updates 1500]

main.py trains `configs/babi.py:plain` twice for so many updates, with --sync and with --nosync. An
update is of one batch either way, so both read as many questions. The two runs take turns: one is
stopped (SIGSTOP) while the other goes on, so that both meet the same state of a shared machine.
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

from benchmarks import machine, timing
from rrn.training.workdir import Workdir

ROOT = Path(__file__).resolve().parents[1]
TURN_SECONDS = 15.0
POLL_SECONDS = 0.05
START_SECONDS = 600.0  # in which a run must have made its first updates
SETTINGS = {
    "model.compute_dtype": "float32",
    "train.log_every_updates": 25,
    "train.validation_examples": 2_000,
}


class Run:
    """One run of main.py that goes on only within its turns."""

    def __init__(self, way, arguments):
        self.folder, self.updates = arguments.out / way, arguments.updates
        self.seconds = self.cpu_seconds = self.counted = 0
        fields = {
            **SETTINGS,
            "train.num_updates": arguments.updates,
            "train.evaluate_every_updates": arguments.updates,
            "evaluate.examples": arguments.examples,
        }
        command = [sys.executable, "main.py", "--config=configs/babi.py:plain", f"--{way}"]
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

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def wait_for_first_updates(self):
        deadline = time.monotonic() + START_SECONDS
        while not self.update():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.folder} did not begin: see the .txt beside it")
            time.sleep(POLL_SECONDS)

    def take_turn(self):
        """Goes on for a while: (updates, seconds, processor seconds), None where training ends."""
        before, then, cpu = self.update(), time.monotonic(), self._cpu_seconds()
        self.go_on()
        time.sleep(TURN_SECONDS)
        if self.update() >= self.updates or self.process.poll() is not None:
            return None
        self.stop()
        return self.update() - before, time.monotonic() - then, self._cpu_seconds() - cpu

    def count(self, updates, seconds, cpu_seconds):
        self.counted += updates
        self.seconds += seconds
        self.cpu_seconds += cpu_seconds

    def _cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def result(self):
        """What the run has measured and reached."""
        config = json.loads((self.folder / "config.json").read_text())
        questions = self.counted * config["train"]["batch_size"]
        lines = self.lines()
        metrics = json.loads((self.folder / "results.json").read_text())["metrics"]
        return {
            "questions": questions,
            "questions_per_second": questions / self.seconds,
            "questions_per_cpu_second": questions / self.cpu_seconds,
            "staleness": sum(line.get("staleness", 0) for line in lines) / len(lines),
            "staleness_max": max(line.get("staleness_max", 0) for line in lines),
            "metrics": metrics,
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
            runs[way].stop()
        while all(turns := [run.take_turn() for run in runs.values()]):
            for run, turn in zip(runs.values(), turns, strict=True):
                run.count(*turn)
        for run in runs.values():
            run.go_on()
            run.process.wait()
    finally:
        for run in runs.values():
            run.process.kill()
    results = {way: run.result() for way, run in runs.items()}
    timing.write_json(arguments.out / "results.json", results)
    print(machine.hardware())
    columns = ["", "questions/s", "by processor time", "staleness", "largest", "mean error, %"]
    rows = [
        [
            f"--{way}",
            f"{result['questions_per_second']:.0f}",
            f"{result['questions_per_cpu_second']:.0f}",
            f"{result['staleness']:.2f}",
            result["staleness_max"],
            f"{result['metrics']['error/mean']:.1f}",
        ]
        for way, result in results.items()
    ]
    timing.print_table(columns, rows)


if __name__ == "__main__":
    main()
