"""Two processes at once: `python -m tests.together --rounds 100 --seed 1`.

Two commands that write the same file or folder begin within a moment of each other; or a file that
a command reads is replaced while it runs. Each command must end whole or in one error line. What is
written must be whole, and that of one of them; nothing else may be left beside it.
"""

import argparse
import collections
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

from rrn.data_prep import hdf5
from rrn.data_prep.__main__ import main as data_prep
from rrn.files.weights_file import read_weights
from tests.helpers import write_babi_texts
from tests.kills import FLAGS, LIMIT, start, wait

SHORT = [*FLAGS, "--config.train.num_updates=4", "--config.train.evaluate_every_updates=2"]
BLANK = "." * 81


class Bench:
    """Two prepared files of bAbI, which differ, a run on the first one, and a list of puzzles."""

    def __init__(self, folder: Path):
        self.folder, self.files = folder, [folder / f"babi{i}.h5" for i in range(2)]
        self.data = folder / "data.h5"  # the one that commands are given
        for i, path in enumerate(self.files):
            texts = folder / f"texts{i}"
            texts.mkdir()
            write_babi_texts(texts)
            for text in (texts / "en-valid-10k").glob("*_valid.txt") if i else ():
                text.write_text(text.read_text().replace("kitchen", "hall"))
            assert not data_prep(
                ["babi", "--source", str(texts), "--tasks", "1,2,3", "--out", str(path)]
            )
        self.digests = {hdf5.read(path).digest for path in self.files}
        self.run, self.list = folder / "run", folder / "puzzles.txt"
        self.list.write_text(f"{BLANK}\n" * 300)
        shutil.copy(self.files[0], self.data)
        assert not self.end([self.command("train")])[0][0]

    def command(self, mode: str, workdir: Path | None = None) -> list:
        """The command line of the program."""
        words = ["main.py", *SHORT, f"--config.data.path={self.data}", "--devices=cpu:1"]
        return [*words, f"--mode={mode}", "--workdir", workdir or self.run]

    def end(self, commands: list, meanwhile=lambda: None, pause: float = 0) -> list:
        """Runs commands, which begin one after the other: (exit status, output) of each."""
        logs = [self.folder / f"log{i}" for i in range(len(commands))]
        processes = []
        for words, log in zip(commands, logs, strict=True):
            processes.append(start(words, log))
            time.sleep(pause)
        meanwhile()
        ends = [wait(process, LIMIT) for process in processes]
        for process in processes:
            process.kill()
        return [(end, log.read_text()) for end, log in zip(ends, logs, strict=True)]


# What is tried: (commands, what must be true of what they have written)


def prepare(bench):
    """Two prepare one file."""
    out = bench.folder / "out" / "ages.h5"
    words = ["data_prep", "ages", "--out", out, "--seed"]
    return [[*words, seed] for seed in (0, 1)], lambda: hdf5.read(out)


def train(bench):
    """Two train in one folder."""
    workdir = bench.folder / "out" / "run"
    shutil.rmtree(workdir, ignore_errors=True)
    return [bench.command("train", workdir)] * 2, lambda: whole_run(workdir)


def evaluate(bench):
    """Two evaluate one run."""
    return [bench.command("evaluate")] * 2, lambda: whole_run(bench.run)


def export(bench):
    """Two export one run."""
    files = bench.run / "saved_model" / "variables"

    def check():
        assert len([*files.iterdir()]) == 2

    return [bench.command("export")] * 2, check


def solve(bench):
    """Two solve one list."""
    out = bench.folder / "out"
    words = ["sudoku", bench.list, "--out", out, "--steps=1", "--devices=cpu"]

    def check():
        lines = (out / "solutions.txt").read_text().splitlines()
        assert len(lines) == 300 and all(line.startswith(BLANK) for line in lines)

    (out / "solutions.txt").unlink(missing_ok=True)
    return [words] * 2, check


def whole_run(workdir):
    """All of a run's files can be read."""
    read_weights(workdir / "weights.h5")
    json.loads((workdir / "results.json").read_text())
    assert (workdir / "report.html").read_text().rstrip().endswith("</html>")


PAIRS = [prepare, train, evaluate, export, solve]


def replaced(bench, rng):
    """The data of a training, an evaluation or a check are replaced; then they are put back."""
    kind = rng.choice(["check", "evaluate", "train"])
    if kind == "check":
        command = ["data_prep", "check", bench.data]
    else:
        workdir = bench.folder / "out" / "replaced" if kind == "train" else None
        shutil.rmtree(workdir or bench.folder / "nothing", ignore_errors=True)
        command = bench.command(kind, workdir)
    moment, at_once = rng.uniform(0, 3), rng.random() < 0.5

    def replace():
        time.sleep(moment)
        if at_once:
            other = bench.folder / "other.h5"
            shutil.copy(bench.files[1], other)
            other.replace(bench.data)
        else:  # as cp does: for a moment it is neither
            shutil.copy(bench.files[1], bench.data)

    try:
        ((status, said),) = bench.end([command], replace)
    finally:
        shutil.copy(bench.files[0], bench.data)
    if kind == "check" and status == 0:
        assert any(digest in said for digest in bench.digests), said
    elif status == 0:
        whole_run(workdir or bench.run)
    return f"data are replaced in {kind}", [(status, said)]


def together(rounds: int, minutes: float, seed: int) -> tuple[dict, list[str]]:
    """Tries pairs and replacements in turn.

    Returns:
      What was tried -> how it ended -> count; what has gone wrong, a line each.
    """
    rng, counts = random.Random(seed), collections.defaultdict(collections.Counter)
    wrong, deadline = [], time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as top:
        bench = Bench(Path(top))
        for number in range(rounds):
            if time.monotonic() > deadline:
                break
            (bench.folder / "out").mkdir(exist_ok=True)
            make = rng.choice([*PAIRS, replaced])
            try:
                if make is replaced:
                    name, ends = replaced(bench, rng)
                else:
                    name, (commands, check) = make.__doc__, make(bench)
                    ends = bench.end(commands, pause=rng.choice([0, rng.uniform(0, 2)]))
                    check()
            except Exception as error:
                name, ends = make.__doc__, []
                wrong.append(f"round {number}: {name} {error!r}")
            for status, said in ends:
                errors = [line for line in said.splitlines() if line.startswith("error: ")]
                right = status == 0 or (status in (1, 2) and len(errors) == 1)
                counts[name]["whole" if status == 0 else "one error line"] += right
                if not right or "Traceback" in said:
                    wrong.append(f"round {number}: {name} status {status}: {said[-2000:]}")
            left = [p for suffix in ("tmp", "old") for p in bench.folder.rglob(f"*.{suffix}")]
            wrong += [f"round {number}: {name} {path} is left" for path in left]
            print(f"{number + 1} rounds", flush=True)
    return {name: dict(of) for name, of in counts.items()}, wrong


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m tests.together", description=__doc__)
    found.add_argument("--rounds", type=int, default=100)
    found.add_argument("--minutes", type=float, default=600.0)
    found.add_argument("--seed", type=int, default=0)
    return found


def main() -> int:
    options = parser().parse_args()
    counts, wrong = together(options.rounds, options.minutes, options.seed)
    print(*(f"{name} {of}" for name, of in sorted(counts.items())), sep="\n")
    print(*wrong, f"{len(wrong)} things went wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
