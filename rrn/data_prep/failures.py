"""The one place where a command fails: what can be foreseen ends in a line, not in a traceback.

The line is `error: FILE or FLAG or FIELD: what was found; what would be right`. What cannot be
foreseen is a mistake of the program and keeps its traceback.
"""

import argparse
import errno
import importlib.util
import io
import os
import re
import struct
import sys
import tarfile
import traceback
import zipfile
import zlib
from collections.abc import Callable
from typing import NoReturn

FORESEEN = (
    ArithmeticError,  # a number that is not finite, or too large for what takes it
    EOFError,
    MemoryError,
    OSError,
    ValueError,  # the project's own errors, and those of JSON and Unicode
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
STANDARD_LIBRARY = os.path.dirname(os.__file__)
FULL = (errno.ENOSPC, errno.EDQUOT)
AGAIN = "make room there, and give the same command again"
SMALLER = "a smaller batch_size or a smaller model needs less"
NO_FCNTL = (
    "this system has no fcntl, with which a run locks its folder; on Windows give the same command "
    "in WSL2, which `wsl --install` sets up"
)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as everything here does."""

    def error(self, message: str) -> NoReturn:
        print(f"error: {message}; {self.prog} --help lists all options", file=sys.stderr)
        sys.exit(2)


def error_line(error: BaseException, smaller: str = SMALLER) -> str | None:
    """Says what has failed.

    Args:
      error: what was raised.
      smaller: what needs less memory.

    Returns:
      `error: ` and what has failed, one line but for lines that the error itself indents; None if
      nobody could foresee it.
    """
    if _is_tensorflows(error):
        return f"error: {_tensorflows(error, smaller)}"
    if not isinstance(error, FORESEEN) and not _is_of_h5py(error):
        return None
    return f"error: {_words(error, smaller)}"


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


def check_system() -> None:
    """Checks that the system is one on which the programs run: Linux, or macOS.

    Raises:
      OSError: it has no locks of files, as Windows; the message says what to do.
    """
    if importlib.util.find_spec("fcntl") is None:
        raise OSError(NO_FCNTL)


def exit_status(command: Callable[[], object]) -> int:
    """Runs a command on a system that is fit for it, and prints what fails in one line.

    Returns:
      The exit status, 0, or 1 after an error that could be foreseen.
    """
    try:
        check_system()
        command()
    except Exception as error:
        if (line := error_line(error)) is None:
            raise
        print(line, file=sys.stderr)
        return 1
    return 0


def _words(error, smaller):
    if isinstance(error, MemoryError):
        return f"memory: {_first_line(error) or 'not enough'}; {smaller}"
    if isinstance(error, OSError):
        what = error.strerror or _first_line(error)
        hint = f"; {AGAIN}" if error.errno in FULL else ""
        return f"{error.filename}: {what}{hint}" if error.filename else f"{what}{hint}"
    if isinstance(error, KeyError):  # of h5py
        return f"HDF5: {words_of(error)}"
    if isinstance(error, RuntimeError):
        return f"HDF5: {_first_line(error)}"
    first, *others = str(error).rstrip().splitlines() or [type(error).__name__]
    return "\n".join([first, *(line if line[:1] == " " else f"  {line}" for line in others)])


def _tensorflows(error, smaller):
    what = _first_line(error)
    if "No space left" in what:  # after the file and a semicolon
        return f"{what.replace('; No space', ': No space')}; {AGAIN}"
    if type(error).__name__ == "ResourceExhaustedError":
        return f"memory: {what}; {smaller}"
    return f"TensorFlow: {type(error).__name__}: {what}"


def _is_tensorflows(error):
    """Without importing TensorFlow, which takes seconds."""
    return any(
        kind.__name__ == "OpError" and kind.__module__.startswith("tensorflow.")
        for kind in type(error).__mro__
    )


def _is_of_h5py(error):
    """Its KeyErrors and RuntimeErrors are about files."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, (KeyError, RuntimeError)) and bool(
        frames and "h5py" in frames[-1].filename
    )


def _first_line(error):
    """The first line that says anything, without TensorFlow's names of operations."""
    plain = re.sub(r"\{\{.*?\}\} ?| ?\[Op:\w*\]", "", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Detected at node")]
    return (told or lines or [""])[0]


def find_place(error: BaseException, outside: str) -> str | None:
    """Says where a user's Python file has failed.

    Args:
      outside: the folder of the program that executes it, whose files do not count.

    Returns:
      "FILE:LINE", the innermost of the errors' places that is in no installed package; None if
      there is none.
    """
    raised: BaseException | None = error
    while raised is not None:
        places = [(f.filename, f.lineno) for f in traceback.extract_tb(raised.__traceback__)]
        if isinstance(raised, SyntaxError):
            places.append((raised.filename or "<unknown>", raised.lineno))
        for path, line in reversed(places):
            installed = path.startswith(("<", STANDARD_LIBRARY)) or "site-packages" in path
            if not path.startswith(outside) and not installed:
                return f"{path}:{line}"
        raised = raised.__cause__ or raised.__context__
    return None
