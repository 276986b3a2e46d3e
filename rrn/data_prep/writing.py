"""Writes files and folders that appear whole or not at all."""

import contextlib
import errno
import os
import platform
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

# Others may write into the same folder from machines on which other processes run.
MACHINE = f"{zlib.crc32(platform.node().encode()) % 2**16:04x}"


@contextlib.contextmanager
def writing(path: str | os.PathLike) -> Iterator[None]:
    """Within it an error of the system names the file that is written, as on a full disk.

    Args:
      path: the file.

    Raises:
      OSError: the system's error, with the file's name.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def whole(path: str | os.PathLike) -> Iterator[Path]:
    """Makes a file or a folder that appears whole or not at all.

    What is made takes the place of what is there, in the end and on the disk. An error leaves what
    is there, and nothing beside it. So does a kill, but for `PATH.PROCESS-XXXXXX.tmp`, and for a
    folder that was to be replaced it may leave `PATH.PROCESS-XXXXXX.old`, which has all of it. The
    next process of this machine that makes PATH removes them, the latter when PATH is there again.
    Several processes may do so at once: the last one's stays.

    Args:
      path: the file or the folder.

    Yields:
      The path, beside it and no other process's, at which the context makes it.

    Raises:
      OSError: the system's error, with `path` as the file's name.
    """
    path = Path(path)
    name = f"{path.name}.{os.getpid()}-{MACHINE}{secrets.token_hex(3)}"
    temporary, old = path.with_name(f"{name}.tmp"), path.with_name(f"{name}.old")
    try:
        with writing(path):
            _remove_abandoned(path)
            yield temporary
            for file in filter(Path.is_file, [temporary, *temporary.rglob("*")]):
                _sync(file)
            _replace(temporary, path, old)
    except OSError as error:
        if error.filename != str(temporary):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        _remove(temporary)
        if path.exists():
            _remove(old)
        elif old.exists():
            os.replace(old, path)


def _remove_abandoned(path):
    """Removes what processes of this machine that no longer run have left beside a path."""
    pattern = re.compile(rf"{re.escape(path.name)}\.(\d+)-{MACHINE}[0-9a-f]{{6}}\.(tmp|old)")
    with contextlib.suppress(OSError):  # a folder that cannot be listed, or others' files
        for beside in path.parent.iterdir():
            match = pattern.fullmatch(beside.name)
            if match and not _runs(int(match[1])) and (match[2] == "tmp" or path.exists()):
                _remove(beside)


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _replace(temporary, path, old):
    """Gives what was made its name. A folder cannot take that of another, which goes aside."""
    while True:
        try:
            return os.replace(temporary, path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        _remove(old)  # another process has written a folder since
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, old)


def _sync(path):
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
