"""Runs a command in a fork of this process: it sees its exit status and what it says.

A fork is fast, since everything is imported, and leaves this process as it was.
"""

import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from rrn.data_prep import DataError

MEMORY = 4 << 30  # bytes that a command may take beyond what this process has


def forked(function: Callable[[], int | None]) -> tuple[int, str]:
    """Runs a function in a fork of this process.

    Returns:
      The exit status, negative for a signal, and what was written to standard error.
    """
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as out:
        if not (pid := os.fork()):
            status = 70  # of a traceback
            try:
                os.dup2(said.fileno(), 2)
                os.dup2(out.fileno(), 1)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                pages = int(Path("/proc/self/statm").read_text().split()[0])
                resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + MEMORY,) * 2)
                status = function() or 0
            except SystemExit as ended:
                if isinstance(ended.code, str):
                    print(ended.code, file=sys.stderr)
                status = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        try:
            _, status = os.waitpid(pid, 0)
        except BaseException:  # it takes too long
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read()


def succeed(function: Callable[[], int | None]) -> None:
    """Runs a command in a fork; its error line is raised again, without `error: `."""
    judge(*forked(function))


def judge(status: int, said: str) -> None:
    """Raises a command's error line again, without `error: `.

    Args:
      status: its exit status.
      said: what it wrote to standard error.
    """
    if status == 0:
        return
    lines = said.rstrip("\n").splitlines()
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    if status not in (1, 2) or len(errors) != 1 or "Traceback" in said:
        raise RuntimeError(f"status {status}: {said}")
    raise DataError("\n".join(lines[errors[0] :]).removeprefix("error: "))
