"""How a command fails: an error of the user's ends in one line, a mistake here in a traceback.

The line is `error: FILE or FLAG or FIELD: what was found; what would be right`.
"""

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

# ArithmeticError: a number that is not finite or too large. ValueError: also of JSON and Unicode.
FORESEEN = (ArithmeticError, EOFError, MemoryError, OSError, ValueError)
AGAIN = "free some space there, and give the same command again"
MOST = 1_000_000  # of whatever an option counts: examples, stories, scenes, digits or puzzles


class Parser(argparse.ArgumentParser):
    """Reports a wrong option in one line."""

    def error(self, message: str) -> NoReturn:
        what = re.sub(r"^argument (\S+): ", r"\1 ", message)
        print(f"error: {what}; {self.prog} --help lists all options", file=sys.stderr)
        sys.exit(2)


def number(least: int = 1, most: int = MOST) -> Callable[[str], int]:
    """Makes the type of an option: a whole number from `least` to `most`."""

    def parse(text):
        if not re.fullmatch(r"-?[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a number, {least:,} to {most:,}")
        return int(text)

    return parse


SEED = number(0, 10**18)


def numbers(count: int) -> Callable[[str], tuple[int, ...]]:
    """Makes the type of an option: several numbers with commas between them."""

    def parse(text):
        if len(parts := text.split(",")) != count:
            raise argparse.ArgumentTypeError(f"{text}: expected {count} numbers, as N,N")
        return tuple(map(number(), parts))

    return parse


def out_file(text: str) -> Path:
    """The type of the option `--out`: a file that can be written, so that no work is lost."""
    path = Path(text)
    if path.exists() and not path.is_file():
        raise argparse.ArgumentTypeError(f"{text}: expected a regular file or a new one")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{text}: {folder} is no folder that can be written to")
    return path


def error_line(error: BaseException) -> str | None:
    """Returns the line for an error, with further lines of its own indented; None for a mistake."""
    # By name, since importing TensorFlow takes seconds.
    of_tensorflow = "OpError" in [kind.__name__ for kind in type(error).__mro__]
    if not of_tensorflow and not isinstance(error, FORESEEN):
        return None
    # Without TensorFlow's names of operations.
    names = r"\{\{.*?\}\} ?| ?\[Op:\w*\]|Detected at node.*|^Graph execution error:"
    text = re.sub(names, "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    frames = [line for line in lines if of_tensorflow and line.startswith('File "')]
    first, *others = [line for line in lines if line not in frames] or [type(error).__name__]
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        if "No space left" in first:  # after the file and a semicolon
            return f"error: {first.replace('; No space', ': No space')}; {AGAIN}"
        return f"error: memory: {first}; a smaller batch, model or data set needs less"
    if of_tensorflow:
        own = [frame for frame in frames if not re.search("site-packages|/rrn/nn/", frame)]
        where = f" ({own[-1]})" if own else ""
        return f"error: TensorFlow: {type(error).__name__}: {first}{where}"
    if isinstance(error, OSError):
        what = error.strerror or first
        hint = f"; {AGAIN}" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return f"error: {f'{error.filename}: ' if error.filename else ''}{what}{hint}"
    return "\n  ".join([f"error: {first}", *others])


def words_of(error: BaseException) -> str:
    """What an error says: str() of a KeyError would quote and escape it."""
    if isinstance(error, KeyError) and error.args:
        what = str(error.args[0])
        return what if " " in what else f"no entry {what!r}"
    return str(error) or type(error).__name__


def escape_output() -> None:
    """Escapes characters that the output cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_status(command: Callable[[], object], verbose: bool = False) -> int:
    """Runs a command; returns 0, 1 after an error of the user's, or 130 after Ctrl-C.

    The error is a line on stderr, or with `verbose` a traceback.
    """
    try:
        command()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if verbose or (line := error_line(error)) is None:
            raise
        print(line, file=sys.stderr)
        return 1
    return 0
