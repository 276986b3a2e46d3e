"""The command line: `python -m data_prep DATA_SET [options]`."""

import argparse
import signal
import sys
from collections.abc import Sequence

from data_prep import DataError
from data_prep.ages import prepare as ages
from data_prep.babi import prepare as babi
from data_prep.mnist import prepare as mnist
from data_prep.pretty_clevr import prepare as pretty_clevr
from data_prep.sudoku import prepare as sudoku

DATA_SETS = {
    "babi": babi,
    "sudoku": sudoku,
    "pretty_clevr": pretty_clevr,
    "ages": ages,
    "mnist": mnist,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one data set's command.

    Args:
        arguments: the words of the command line; by default those of this process.

    Returns:
        The exit status: 0, or 2 after an error message.
    """
    parser = argparse.ArgumentParser(prog="python -m data_prep", description="Prepare a data set.")
    commands = parser.add_subparsers(dest="data_set", metavar="DATA_SET", required=True)
    for name, module in DATA_SETS.items():
        summary = module.__doc__.splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=summary))
    args = parser.parse_args(arguments)
    try:
        DATA_SETS[args.data_set].run(args)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    # SIGTERM raises an exception here, so that an unfinished file is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
