"""Archives, folders and downloads, against small archives and a local server."""

import gzip
import hashlib
import http.server
import itertools
import re
import tarfile
import threading
from types import SimpleNamespace

import pytest

from rrn.data_prep import DataError, input_files

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several blocks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT. The server's attributes say how: `ranges`, `most` bytes an answer."""

    def do_GET(self):
        self.server.requests.append(self.headers.get("Range"))
        if self.path.partition("?")[0] != "/data.bin":
            self.send_error(404)
            return
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(match[1]) if match and self.server.ranges else 0
        if start >= len(CONTENT):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : start + self.server.most])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.ranges, server.most = [], True, len(CONTENT)
    server.url = f"http://127.0.0.1:{server.server_port}/data.bin"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_writes_the_file_and_shows_progress(server, tmp_path, monkeypatch, capsys):
    clock = itertools.count(0.0, 20.0)
    monkeypatch.setattr(
        "rrn.data_prep.progress.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    path = input_files.download(server.url, tmp_path / "new" / "data.bin", SHA256)
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["data.bin"]
    shown = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert shown[0] == "kB downloaded: 262 of 1,048, 13/s, 60 s left"
    assert shown[3:] == ["kB downloaded: 1,048 of 1,048, 13/s, 0 s left"]


def test_download_goes_on_where_it_stopped(server, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:1000])
    path = input_files.download(server.url, tmp_path / "data.bin", SHA256)
    assert path.read_bytes() == CONTENT
    assert server.requests == ["bytes=1000-"]


def test_download_starts_again_where_the_server_knows_no_ranges(server, tmp_path):
    server.ranges = False
    (tmp_path / "data.bin.part").write_bytes(b"something else")
    path = input_files.download(server.url, tmp_path / "data.bin")
    assert path.read_bytes() == CONTENT


def test_download_survives_broken_connections(server, tmp_path):
    server.most = 400_000
    path = input_files.download(server.url, tmp_path / "data.bin", SHA256)
    assert path.read_bytes() == CONTENT
    assert server.requests == [None, "bytes=400000-", "bytes=800000-"]


def test_download_that_brings_nothing_more_fails_and_keeps_its_part(server, tmp_path):
    server.most = 0
    part = tmp_path / "data.bin.part"
    part.write_bytes(CONTENT[:1000])
    with pytest.raises(DataError, match=r"broke off after 1,000 bytes .* run the command again"):
        input_files.download(server.url, tmp_path / "data.bin")
    assert part.read_bytes() == CONTENT[:1000]
    server.most = len(CONTENT)
    assert input_files.download(server.url, tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("extra", [b"", b"more than there is"])
def test_download_of_a_part_with_nothing_missing(server, tmp_path, extra):
    (tmp_path / "data.bin.part").write_bytes(CONTENT + extra)
    path = input_files.download(server.url, tmp_path / "data.bin", SHA256)
    assert path.read_bytes() == CONTENT


def test_download_with_another_checksum_leaves_nothing(server, tmp_path):
    with pytest.raises(DataError, match=f"sha256 is {SHA256}, expected {'0' * 64}"):
        input_files.download(server.url, tmp_path / "data.bin", "0" * 64)
    assert not list(tmp_path.iterdir())


def test_download_of_what_is_not_there(server, tmp_path):
    with pytest.raises(DataError, match="the server answers 404"):
        input_files.download(server.url + "x", tmp_path / "data.bin")
    assert not list(tmp_path.iterdir())


def test_download_from_nobody(server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(DataError, match=r"broke off after 0 bytes .*refused"):
        input_files.download(server.url, tmp_path / "data.bin")


def test_locate_downloads_once(server, tmp_path, capsys):
    assert input_files.locate(server.url, tmp_path) == tmp_path / "data.bin"
    assert input_files.locate(server.url, tmp_path, SHA256) == tmp_path / "data.bin"
    assert len(server.requests) == 1
    assert "used again" in capsys.readouterr().out


def test_locate_local_files(tmp_path):
    path = tmp_path / "data.bin"
    with pytest.raises(DataError, match=r"data\.bin: no such file or folder"):
        input_files.locate(str(path), tmp_path)
    path.write_bytes(CONTENT)
    assert input_files.locate(str(path), tmp_path, SHA256.upper()) == path
    with pytest.raises(DataError, match=f"sha256 is {SHA256}, expected abc"):
        input_files.locate(str(path), tmp_path, "abc")
    with pytest.raises(DataError, match="a folder has no checksum"):
        input_files.locate(str(tmp_path), tmp_path, SHA256)


def test_a_url_names_a_file(tmp_path):
    with pytest.raises(DataError, match=r"https://host/: names no file; give an archive's URL"):
        input_files.locate("https://host/", tmp_path)


def test_read_file(tmp_path):
    for name, content in (("file", CONTENT), ("file.gz", gzip.compress(CONTENT))):
        (tmp_path / name).write_bytes(content)
        assert input_files.read_file(tmp_path / name) == CONTENT
    for wrong in (content[:-9], CONTENT):
        (tmp_path / "file.gz").write_bytes(wrong)
        with pytest.raises(DataError, match=r"file\.gz: not a whole \.gz file"):
            input_files.read_file(tmp_path / "file.gz")


def test_checksum(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    # The test vector of FIPS 180-2, appendix B.1.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert input_files.checksum(tmp_path / "file") == expected
    assert input_files.checksum(tmp_path) == ""


def test_a_download_is_used_again_for_its_own_url_alone(server, tmp_path, capsys):
    path = input_files.locate(server.url, tmp_path)
    other = server.url.replace("/data.bin", "/other/data.bin")
    with pytest.raises(DataError, match=r"/other/data\.bin: the server answers 404"):
        input_files.locate(other, tmp_path)
    assert input_files.locate(server.url + "?v=2", tmp_path) == path
    assert "used again" not in capsys.readouterr().out
    path.write_bytes(b"changed")
    for url in server.url, server.url + "?v=2":
        with pytest.raises(DataError, match=r"data\.bin: not as downloaded from .*; give --source"):
            input_files.locate(url, tmp_path)
    assert path.read_bytes() == b"changed"


def test_a_file_from_elsewhere_is_not_taken_for_a_download(server, tmp_path):
    (tmp_path / "data.bin").write_bytes(CONTENT)
    with pytest.raises(DataError, match=r"data\.bin: not as downloaded from http"):
        input_files.locate(server.url, tmp_path)
    assert input_files.locate(server.url, tmp_path, SHA256) == tmp_path / "data.bin"
    assert server.requests == []


def test_a_part_of_another_url_is_not_gone_on_with(server, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(b"another file's beginning")
    (tmp_path / "data.bin.part.url").write_text("http://elsewhere/data.bin")
    path = input_files.download(server.url, tmp_path / "data.bin")
    assert path.read_bytes() == CONTENT and server.requests == [None]
    assert [file.name for file in tmp_path.iterdir()] == ["data.bin"]


def test_a_member_that_declares_more_than_is_there(tmp_path):
    member = tarfile.TarInfo("top/qa1_train.txt")
    member.size = 8 << 40
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(member.tobuf() + bytes(2048)))
    with pytest.raises(DataError, match=r"a\.tar\.gz: not a whole \.tar\.gz archive"):
        input_files.read_members(tmp_path / "a.tar.gz", lambda name: True)
