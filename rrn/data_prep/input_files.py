"""Finds, downloads and reads archives, folders and files. Nothing is unpacked on disk."""

import functools
import gzip
import hashlib
import http.client
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path

from rrn.data_prep import DataError
from rrn.data_prep.progress import Progress
from rrn.data_prep.writing import whole

BLOCK = 1 << 18  # bytes per read
TIMEOUT = 60  # seconds without a byte


def is_url(source: str) -> bool:
    """Returns whether a source is an http or https URL."""
    return source.startswith(("http://", "https://"))


def locate(source: str, download_folder: Path, sha256: str | None = None) -> Path:
    """Returns the local file or folder that `source` names.

    A URL is downloaded into `download_folder`, unless a file of its name is there.

    Raises:
      DataError: there is no such file, its SHA-256 is not `sha256`, or the download failed.
    """
    path = Path(source)
    if is_url(source):
        path = download_folder / Path(urllib.parse.urlsplit(source).path).name
        if path == download_folder:
            raise DataError(f"{source}: names no file; give an archive's URL")
        if not path.exists():
            return download(source, path, sha256)
        print(f"{path}: is there, and read; without it {source} is downloaded")
    if not (path.is_file() or path.is_dir()):  # a device or a pipe might have no end
        what = "a device or a pipe" if path.exists() else "no such file or folder"
        raise DataError(f"{path}: {what}; expected a file, a folder or a URL")
    if sha256:
        if path.is_dir():
            raise DataError(f"{source}: a folder has no checksum; leave out --sha256 {sha256}")
        _verify(path, path, sha256)
    return path


def checksum(path: Path) -> str:
    """Returns the SHA-256 of a file as hexadecimal digits, or "" for a folder."""
    return "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()


def read_file(path: Path) -> bytes:
    """Returns the bytes of a file, uncompressed if its name ends with .gz."""
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: not a whole .gz file ({error}); get it again") from error


def read_members(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Reads the files of a .tar.gz archive or a folder whose names are wanted: name -> bytes.

    Names in a folder start with the folder's own name, as they would in an archive made from it.
    """
    if path.is_dir():
        root = path.resolve()
        named = ((file.relative_to(root.parent).as_posix(), file) for file in root.rglob("*"))
        return {name: file.read_bytes() for name, file in named if wanted(name) and file.is_file()}
    members = {}
    try:
        with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            for member in archive:
                if member.isfile() and wanted(member.name):
                    file = archive.extractfile(member)  # in blocks: its declared size may be wrong
                    assert file is not None  # of a file
                    read = functools.partial(file.read, BLOCK)
                    members[member.name] = b"".join(iter(read, b""))
            while stream.read(BLOCK):  # at the end gzip compares its checksum
                pass
    except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error) as error:
        raise DataError(
            f"{path}: not a whole .tar.gz archive ({error}); get it again, or give the unpacked"
            " folder"
        ) from error
    return members


def download(url: str, path: Path, sha256: str | None = None) -> Path:
    """Downloads a file, whole or not at all; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as response, part.open("wb") as file:
                total = int(response.headers.get("Content-Length") or 0)
                progress = Progress("kB downloaded", total // 1000 or None)
                while block := response.read(BLOCK):
                    file.write(block)
                    progress.show(file.tell() // 1000)
                if total and file.tell() < total:
                    raise OSError(f"the connection closed after {file.tell():,} of {total:,} bytes")
        except urllib.error.HTTPError as error:
            raise DataError(f"{url}: the server answers {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"{url}: the download failed: {reason}; see --source") from error
        if sha256:
            _verify(part, url, sha256)
    return path


def _verify(path, name, sha256):
    if (found := checksum(path)) != sha256.lower():
        raise DataError(
            f"{name}: sha256 is {found}, expected {sha256}; it is another or a damaged file"
        )
