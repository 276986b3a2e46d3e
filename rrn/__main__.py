"""The program of an installed rrn: `rrn`, or `python -m rrn`, takes what `python main.py` takes.

A config that is not in the current folder, as configs/babi.py:quick, is the installed one of that
name; without --config it is configs/babi.py.
"""

import importlib
import re
import sys
from pathlib import Path

from absl import app, flags

HERE = Path(__file__).resolve().parent
INSTALLED = (HERE / "main.py").exists()  # else this is a checkout: main.py is beside rrn/
ROOT = HERE if INSTALLED else HERE.parent


def with_installed_config(arguments: list[str]) -> list[str]:
    """Puts the installed config in the place of one that the current folder does not have.

    Args:
      arguments: those of the command line, without the program's name.

    Returns:
      The arguments, of which the config may be another file.
    """
    if not any(re.match(r"--?config(=|$)", argument) for argument in arguments):
        arguments = ["--config=configs/babi.py", *arguments]
    return [
        re.sub(r"^(--?config=|)(configs/\w+\.py)(?=:|$)", _installed, argument)
        for argument in arguments
    ]


def _installed(match):
    flag, file = match.groups()
    here_or_nowhere = Path(file).exists() or not (ROOT / file).exists()
    return f"{flag}{file if here_or_nowhere else ROOT / file}"


def run() -> None:
    """Runs the program with the command line's arguments."""
    sys.argv[1:] = with_installed_config(sys.argv[1:])
    if not INSTALLED:
        sys.path.insert(0, str(ROOT))
    program = importlib.import_module("rrn.main" if INSTALLED else "main")
    for flag in flags.FLAGS.get_key_flags_for_module(program):  # for --help
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)
    app.run(program.main, flags_parser=program.parse_flags)


if __name__ == "__main__":
    run()
