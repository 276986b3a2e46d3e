"""The one place where a command fails: what can be foreseen ends in a line, not in a traceback.

The line is `error: FILE or FLAG or FIELD: what was found; what would be right`. What cannot be
foreseen is a mistake of the program and keeps its traceback.
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

# ArithmeticError: a number that is not finite, or too large for what takes it. ValueError: the
# project's own errors, and those of JSON and Unicode.
FORESEEN = (ArithmeticError, EOFError, MemoryError, OSError, ValueError)
AGAIN = "free some space there, and give the same command again"
MOST = 1_000_000  # of whatever an option counts: examples, stories, scenes, digits or puzzles


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as everything here does."""

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
    """Says what has failed.

    Returns:
      `error: ` and what has failed, one line but for lines that the error itself indents; None if
      nobody could foresee it.
    """
    # Without importing TensorFlow, which takes seconds.
    of_tensorflow = any(
        kind.__name__ == "OpError" and kind.__module__.startswith("tensorflow.")
        for kind in type(error).__mro__
    )
    if not of_tensorflow and not isinstance(error, FORESEEN):
        return None
    # Without TensorFlow's names of operations.
    text = re.sub(r"\{\{.*?\}\} ?| ?\[Op:\w*\]|Detected at node.*", "", str(error))
    first, *others = [line for line in text.splitlines() if line.strip()] or [type(error).__name__]
    first = first.strip()
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        if "No space left" in first:  # after the file and a semicolon
            return f"error: {first.replace('; No space', ': No space')}; {AGAIN}"
        return f"error: memory: {first}; a smaller batch, model or data set needs less"
    if of_tensorflow:
        return f"error: TensorFlow: {type(error).__name__}: {first}"
    if isinstance(error, OSError):
        what = error.strerror or first
        hint = f"; {AGAIN}" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return f"error: {f'{error.filename}: ' if error.filename else ''}{what}{hint}"
    return "\n".join([f"error: {first}", *(f"  {line.strip()}" for line in others)])


def words_of(error: BaseException) -> str:
    """What an error says, all of it in words: str() of a KeyError would quote and escape it."""
    if isinstance(error, KeyError) and error.args:
        what = str(error.args[0])
        return what if " " in what else f"no entry {what!r}"
    return str(error) or type(error).__name__


def escape_output() -> None:
    """Makes what the output cannot show no error: it is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not what takes their place in tests
            stream.reconfigure(errors="backslashreplace")


def exit_status(command: Callable[[], object], verbose: bool = False) -> int:
    """Runs a command; what fails is a line on stderr, or with `verbose` a traceback.

    Returns:
      0; 1 after an error that could be foreseen; 130 after Ctrl-C.
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
