"""The command line: `python -m data_prep DATA_SET [options]`."""

import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rrn.data_prep.failures import Parser, escape_output, exit_status
from rrn.data_prep.finding import find

COMMANDS = {
    name: importlib.import_module(f"{__package__}.{module}")
    for name, module in find(Path(__file__).parent, "add_arguments", "prepare").items()
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status. Wrong options end the process with 2."""
    parser = Parser(prog="python -m data_prep", description="Prepare a data set.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or name).splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument(
            "--verbosity", type=int, default=0, help="1: an error shows where it was raised"
        )
        module.add_arguments(command)
    args = parser.parse_args(arguments)
    return exit_status(lambda: COMMANDS[args.command].run(args), args.verbosity > 0)


if __name__ == "__main__":
    escape_output()
    # SIGTERM raises an exception here, so that an unfinished file is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
