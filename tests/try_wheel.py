"""Tries an installed wheel, as somebody does who has no checkout.

python tests/try_wheel.py dist/rrn-0.1.0-py3-none-any.whl

makes an empty environment in a temporary folder, installs the wheel with what it needs (from the
package index), solves a Sudoku puzzle, prepares simulated stories, trains `configs/babi.py:test` on
them, asks the trained model, and exports it. It ends with the first step that fails.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LIMIT = 1800  # seconds for one step; the install downloads TensorFlow
NAMES = """
import importlib.util
import rrn

print("version", rrn.__version__, "in", rrn.__file__)
for name in ("data_prep", "configs", "main", "pretrained", "setup"):
    assert importlib.util.find_spec(name) is None, f"the wheel has {name} outside of rrn"
"""
SOLVE = """
import rrn

puzzle = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
found = rrn.solve_sudoku([puzzle])
assert len(found) == 1 and found.valid.all()
assert (rrn.solve_sudoku(puzzle).solutions == found.solutions).all()
"""
ASK = """
import rrn

model = rrn.load("runs/test/weights.h5")
print(rrn.summary(model).splitlines()[-1])
asked = {"story": ["Mary went to the garden."], "question": ["Where is Mary?"]}
print("answer:", model.predict(asked)["answer"].numpy()[0].decode())
"""
SAVED = """
import sys
import tensorflow as tf

model = tf.saved_model.load("runs/test/saved_model")
asked = {"story": ["Mary went to the garden."], "question": ["Where is Mary?"]}
answer = model.predict({name: tf.constant(text) for name, text in asked.items()})["answer"]
print("answer:", answer.numpy()[0].decode())
assert "rrn" not in sys.modules
"""


def main(wheel: str) -> None:
    """Runs every step; `wheel` is the file."""
    wheel = str(Path(wheel).resolve())
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        venv.create(environment, with_pip=True)
        program = str(environment / "bin" / "python")
        simulated = ["--source", "simulated", "--tasks", "1,2", "--stories", "200"]
        steps = {
            "install": ["-m", "pip", "install", "--quiet", wheel],
            "names": ["-c", NAMES],
            "solve": ["-c", SOLVE],
            "prepare": ["-m", "rrn.data_prep", "babi", *simulated, "--out", "data/babi.h5"],
            "train": ["-m", "rrn", *["--config", "configs/babi.py:test", "--workdir", "runs/test"]],
            "ask": ["-c", ASK],
            "export": ["-m", "rrn", *["--mode", "export", "--workdir", "runs/test"]],
            "run the export": ["-c", SAVED],
        }
        variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        variables.pop("PYTHONPATH", None)
        commands = {step: [program, *arguments] for step, arguments in steps.items()}
        commands["the script"] = [str(environment / "bin" / "rrn"), "--help"]
        for step, command in commands.items():
            print(f"== {step}", flush=True)
            done = subprocess.run(
                command, cwd=folder, env=variables, timeout=LIMIT, capture_output=True, text=True
            )
            print("\n".join(done.stdout.splitlines()[-12:]), flush=True)
            # absl's --help ends with status 1.
            if done.returncode and not (step == "the script" and "--workdir" in done.stdout):
                sys.exit(f"{step} failed, status {done.returncode}:\n{done.stderr}")
    print("The wheel works.")


if __name__ == "__main__":
    main(sys.argv[1])
