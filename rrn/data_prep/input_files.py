"""Finds, downloads and reads archives, folders and files. Nothing is unpacked on disk."""

import functools
import gzip
import hashlib
import http.client
import os
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path

from rrn.data_prep import DataError
from rrn.data_prep.progress import Progress
from rrn.data_prep.writing import whole, writing

BLOCK = 1 << 18  # bytes per read
TIMEOUT = 60  # seconds without a byte


def is_url(source: str) -> bool:
    """Returns whether a source is an http or https URL.

    Args:
      source: path or URL.
    """
    return source.startswith(("http://", "https://"))


def locate(source: str, download_folder: Path, sha256: str | None = None) -> Path:
    """Returns the local archive or folder that `source` names.

    A URL is downloaded into `download_folder`, unless it was before. A file with ".url" after its
    name keeps the download's checksum and URL, so that a file from elsewhere is not taken for it.

    Args:
      source: path of an archive or a folder, or an http or https URL of an archive.
      download_folder: where downloads go.
      sha256: the checksum (64 hexadecimal digits) that the archive must have, if known.

    Raises:
      DataError: there is no such file, the checksum differs, the download failed, or another file
        is where it would be.
    """
    if is_url(source):
        path = download_folder / Path(urllib.parse.urlsplit(source).path).name
        if path == download_folder:
            raise DataError(f"{source}: names no file; give an archive's URL")
        if not _is_download(path, source, sha256):
            download(source, path, sha256)
            with whole(_record(path)) as record:
                record.write_text(f"{checksum(path)} {source}\n")
            return path
        print(f"{path}: downloaded earlier, used again")
    else:
        path = Path(source)
        if not path.exists():
            raise DataError(f"{source}: no such file or folder; give an archive, folder or URL")
    if sha256:
        if path.is_dir():
            raise DataError(f"{source}: a folder has no checksum; leave out --sha256 {sha256}")
        _verify(path, sha256)
    return path


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.url")


def _is_download(path: Path, url: str, sha256: str | None) -> bool:
    """Returns whether a file is that of a URL; False if it is to be downloaded."""
    if not path.exists():
        return False
    found, record = checksum(path), _record(path)
    digest, _, origin = record.read_text().strip().partition(" ") if record.exists() else ("",) * 3
    if digest == found and origin != url:
        return False  # another URL's download, which can be had again
    if digest != found and (sha256 is None or sha256.lower() != found):
        raise DataError(
            f"{path}: not as downloaded from {url}; give --source {path} to read this file, or move"
            " it away"
        )
    return True


def checksum(path: Path) -> str:
    """Returns the SHA-256 of a file as hexadecimal digits, or "" for a folder.

    Args:
      path: the file or the folder.
    """
    if path.is_dir():
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_file(path: Path) -> bytes:
    """Returns the bytes of a file, uncompressed.

    Args:
      path: the file; it is compressed if its name ends with .gz.

    Raises:
      DataError: a .gz file is cut short, damaged or another kind of file.
    """
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path}: not a whole .gz file ({error}); it is cut short, damaged or another kind"
            " of file: get it again"
        ) from error


def read_members(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Reads the wanted files of a gzip-compressed tar archive or of a folder, in one pass.

    Args:
      path: the archive or the folder.
      wanted: says by a file's name whether to read it. Names are as in the archive. Names in a
        folder start with the folder's own name, as they would in an archive made from it.

    Returns:
      The files' bytes by name.

    Raises:
      DataError: the file is no such archive, it is cut short or damaged, or it has two files of one
        name.
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
                    if member.name in members:
                        raise DataError(f"{path}: has two files {member.name}; keep one of them")
                    file = archive.extractfile(member)  # in blocks: its declared size may be wrong
                    assert file is not None  # of a file
                    read = functools.partial(file.read, BLOCK)
                    members[member.name] = b"".join(iter(read, b""))
            while stream.read(BLOCK):  # at the end gzip compares its checksum
                pass
    except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error) as error:
        raise DataError(
            f"{path}: not a whole .tar.gz archive ({error}); it is cut short, damaged or another"
            " kind of file: get it again, or give the unpacked folder"
        ) from error
    return members


def download(url: str, path: Path, sha256: str | None = None) -> Path:
    """Downloads a file.

    What has arrived is kept in a file with ".part" after its name. A download that breaks off is
    continued from there: at once, as long as every attempt brings something, and otherwise at the
    next call.

    Args:
      url: what to download.
      path: the file to write.
      sha256: the checksum (64 hexadecimal digits) that the file must have, if known.

    Returns:
      `path`.

    Raises:
      DataError: the server refused or broke off, or the checksum differs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    record = _record(part)
    if record.exists() and record.read_text() != url:
        part.unlink(missing_ok=True)
    with whole(record) as temporary:
        temporary.write_text(url)
    try:
        _download(url, part)
        if sha256:
            try:
                _verify(part, sha256)
            except DataError:
                part.unlink()  # a continued download would stay wrong
                raise
        os.replace(part, path)
    finally:
        if not part.exists():
            record.unlink()
    return path


def _download(url: str, part: Path) -> None:
    while True:
        before = _size(part)
        problem = None
        try:
            if _fetch(url, part):
                return
        except urllib.error.HTTPError as error:
            raise DataError(f"{url}: the server answers {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            problem = error
        arrived = _size(part)
        if arrived <= before:
            raise DataError(
                f"{url}: the download broke off after {arrived:,} bytes"
                f" ({problem or 'connection closed'}); run the command again to go on from there"
            )


def _fetch(url: str, part: Path) -> bool:
    """Appends what is missing to `part`, in one request. Returns whether the file is complete."""
    have = _size(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        # The server has no further bytes: `part` is the whole file, or a part of another file.
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return True
        part.unlink()
        return _fetch(url, part)
    with response:
        if response.status != 206:  # the server sends the whole file, not only the rest
            have = 0
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        arrived, progress = 0, Progress("kB downloaded", total and total // 1000)
        with part.open("ab" if have else "wb") as file:
            while block := response.read(BLOCK):
                with writing(part):  # a full disk is none of the server's faults
                    file.write(block)
                    file.flush()
                arrived += len(block)
                progress.show(arrived // 1000)
    return total is None or arrived == total


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _verify(path: Path, sha256: str) -> None:
    found = checksum(path)
    if found != sha256.lower():
        raise DataError(
            f"{path}: sha256 is {found}, expected {sha256}; it is another or a damaged file"
        )
