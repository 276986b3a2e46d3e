"""Archives, folders and downloads, against small archives and a local server."""

import gzip
import hashlib
import http.server
import io
import os
import tarfile
import threading

import pytest

from rrn.data_prep import DataError, input_files

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several blocks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, of which the server's attribute `most` says how many bytes arrive."""

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path != "/data.bin":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: self.server.most])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.most = [], len(CONTENT)
    server.url = f"http://127.0.0.1:{server.server_port}/data.bin"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_writes_the_file(server, tmp_path):
    path = input_files.download(server.url, tmp_path / "new" / "data.bin", SHA256)
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["data.bin"]


@pytest.mark.parametrize(
    ("most", "url", "sha256", "said"),
    [
        (300_000, "{}", None, "data.bin: the download failed: .*300,000 of 1,048,576 bytes"),
        (None, "{}x", None, "data.binx: the server answers 404"),
        (None, "{}", "0" * 64, f"data.bin: sha256 is {SHA256}, expected 0000"),
        (
            None,
            "http://127.0.0.1:9/data.bin",
            None,
            "data.bin: the download failed: .*refused; see --source$",
        ),
        (None, "https://host/", None, "https://host/: names no file; give an archive's URL"),
    ],
)
def test_a_failed_download_is_named_and_leaves_nothing(server, tmp_path, most, url, sha256, said):
    server.most = most
    with pytest.raises(DataError, match=said):
        input_files.locate(url.format(server.url), tmp_path / "new", sha256)
    assert not list(tmp_path.glob("new/*"))


def test_locate_downloads_once(server, tmp_path, capsys):
    assert input_files.locate(server.url, tmp_path) == tmp_path / "data.bin"
    assert input_files.locate(server.url, tmp_path, SHA256) == tmp_path / "data.bin"
    assert len(server.requests) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path}/data.bin: is there, and read")
    (tmp_path / "data.bin").write_bytes(b"another")
    with pytest.raises(DataError, match="another or a damaged file"):
        input_files.locate(server.url, tmp_path, SHA256)


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
    os.mkfifo(tmp_path / "pipe")
    for endless in tmp_path / "pipe", "/dev/zero":
        with pytest.raises(DataError, match=f"{endless}: a device or a pipe"):
            input_files.locate(str(endless), tmp_path)


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


def test_members_are_read_in_memory_whatever_their_names_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    member = tarfile.TarInfo("../outside.txt")
    member.size = 3
    with tarfile.open("a.tar.gz", "w:gz") as archive:
        archive.addfile(member, io.BytesIO(b"abc"))
    members = input_files.read_members(tmp_path / "a.tar.gz", lambda name: True)
    assert members == {"../outside.txt": b"abc"} and not (tmp_path.parent / "outside.txt").exists()
    member.size = 8 << 40  # more than is there
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(member.tobuf() + bytes(2048)))
    with pytest.raises(DataError, match=r"a\.tar\.gz: not a whole \.tar\.gz archive"):
        input_files.read_members(tmp_path / "a.tar.gz", lambda name: True)
