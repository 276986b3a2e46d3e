"""Writes files and folders that appear whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def check_path(what: str, path: str | os.PathLike) -> None:
    """Refuses the path of a flag or argument that TensorFlow would read as a pattern."""
    if found := [character for character in os.path.abspath(path) if character in "[]*?\\"]:
        raise ValueError(
            f"{what}={path}: TensorFlow reads {found[0]} as part of a pattern of names; expected a "
            "path without [ ] * ? and backslashes"
        )


@contextlib.contextmanager
def writing(path: str | os.PathLike) -> Iterator[None]:
    """Within it an error of the system names the file that is written, as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def whole(path: str | os.PathLike) -> Iterator[Path]:
    """Makes a file or a folder that appears whole, on the disk, or not at all.

    What is there is replaced in the end, and stays where something fails. It yields the path beside
    it at which the context makes it. A device or a pipe is refused with a ValueError.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path}: a device or a pipe, which is not replaced; name a file")
    try:
        with writing(path):
            yield part
            for file in filter(Path.is_file, [part, *part.rglob("*")]):
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            if part.is_dir() and path.is_dir():  # a folder cannot take the name of a full one
                shutil.rmtree(path)
            os.replace(part, path)
    except OSError as error:
        if error.filename != str(part):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
