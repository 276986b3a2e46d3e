"""Clients of Sudoku's page: slow ones, those that leave, other sites' pages, and many at once.

An input is a request as JSON, and how it is brought. The server must answer it, refuse it or hang
up, and answer a right request afterwards.
"""

import contextlib
import json
import socket
import threading
import time
from unittest import mock

from hypothesis import strategies as st

from rrn.data_prep import DataError
from rrn.tasks.sudoku.application import serving
from tests.fuzz.attempts import Change, Kind

PATIENCE = 0.3  # seconds for a request, in place of the server's own
WAIT = 20  # seconds for an answer
PUZZLE = "." * 80 + "7"
HEADERS = {"Host": "localhost", "Sec-Fetch-Site": "same-origin", "Accept": "*/*"}
RIGHT = {
    "method": "GET",
    "path": f"/solve?puzzle={PUZZLE}",
    "version": "HTTP/1.1",
    "headers": HEADERS,
    "body": "",
    "pieces": 1,  # in which it comes,
    "pause": 0.0,  # with so many seconds between
    "leaves": False,  # without waiting for the answer
    "others": 0,  # connections beside it that bring nothing
}


class _Server(serving.Server):
    """Keeps what went wrong but for clients that have hung up, and needs no network."""

    def __init__(self):
        super().__init__(0)
        self.wrong = []
        self.solve = lambda puzzle, turn, wanted: {"puzzle": puzzle.tolist(), "turn": turn}

    def handle_error(self, request, client_address):
        with mock.patch.object(serving, "print", self.wrong.append, create=True):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def _serving():
    with (
        mock.patch.object(serving, "SECONDS", PATIENCE),
        mock.patch.object(serving.Handler, "timeout", PATIENCE),
        _Server() as server,
    ):
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _connect(server):
    return socket.create_connection((serving.ADDRESS, server.server_port), timeout=WAIT)


def _ask(server, request):
    """What the server answers; b"" if it has hung up."""
    lines = [f"{request['method']} {request['path']} {request['version']}"]
    lines += [f"{name}: {value}" for name, value in request["headers"].items()]
    content = "\r\n".join([*lines, "", request["body"]]).encode("latin-1", "replace")
    size = -(-len(content) // request["pieces"])
    answer = b""
    with _connect(server) as connection, contextlib.suppress(ConnectionError):
        for start in range(0, len(content), size):
            connection.sendall(content[start : start + size])
            time.sleep(request["pause"])
        while not request["leaves"] and (part := connection.recv(1 << 16)):
            answer += part
    return answer


def _read(path):
    request = json.loads(path.read_text())
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_serving())
        others = [_connect(server) for _ in range(request["others"])]
        for other in others:
            stack.enter_context(other)
        answer = _ask(server, request)
        end = time.monotonic() + WAIT
        while b" 200 OK\r\n" not in (last := _ask(server, RIGHT)):
            if time.monotonic() > end:
                raise RuntimeError(f"no answer to a right request: {last[:100]!r}")
            time.sleep(0.05)
        if server.wrong:
            raise RuntimeError(server.wrong)
    status, _, content = answer.partition(b"\r\n\r\n")
    if b" 200 OK\r\n" not in status:
        raise DataError(f"request: {status[:60]!r}")
    return content


def _set(part, value, wrong=True):
    def apply(path):
        request = json.loads(path.read_text())
        if isinstance(request[part], dict):
            value_ = {n: v for n, v in {**request[part], **value}.items() if v is not None}
        else:
            value_ = value
        path.write_text(json.dumps({**request, part: value_}))

    return Change(apply, wrong=wrong, words=f"{part}={str(value)[:80]!r}")


def _several(*changes):
    def apply(path):
        for change in changes:
            change.apply(path)

    wrong = any(change.wrong for change in changes)
    return Change(apply, wrong=wrong, words=", ".join(change.words for change in changes))


OTHER_SITES = ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "[", "", "\xff"]
refused = st.one_of(
    st.builds(_set, st.just("headers"), st.sampled_from([{"Host": h} for h in OTHER_SITES])),
    st.builds(
        _set,
        st.just("headers"),
        st.sampled_from(
            [
                {"Host": None},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"},
                {f"x{i}": "y" for i in range(200)},
                {"x": "y" * 70_000},
            ]
        ),
    ),
    st.builds(_set, st.just("method"), st.sampled_from(["POST", "HEAD", "PUT", "BREW", "", "g"])),
    st.builds(
        _set,
        st.just("path"),
        st.sampled_from(["/x", "*", "/solve", "/solve?puzzle=7", "/solve?puzzle=" + "7" * 81]),
    ),
    st.builds(_set, st.just("version"), st.sampled_from(["HTTP/9.9", "HTTP/x", "", "HTTP/1.1 x"])),
    st.builds(_set, st.just("leaves"), st.just(True)),
)
text = st.text(st.characters(codec="latin-1"), max_size=40)
free = st.one_of(
    st.builds(_set, st.just("path"), text.map("/solve?puzzle=".__add__), st.just(False)),
    st.builds(_set, st.just("path"), text.map("/read?text=".__add__), st.just(False)),
    st.builds(_set, st.just("path"), text, st.just(False)),
    st.builds(
        _set,
        st.just("path"),
        text.map(f"/solve?puzzle={PUZZLE}&turn=".__add__),
        st.just(False),
    ),
    st.builds(_set, st.just("body"), text, st.just(False)),
    st.builds(_set, st.just("headers"), st.builds(lambda v: {"Host": v}, text), st.just(False)),
    st.builds(_set, st.just("others"), st.sampled_from([1, 20, 300]), st.just(False)),
    st.builds(
        lambda pieces, pause: _several(
            _set("pieces", pieces, wrong=False), _set("pause", pause, wrong=False)
        ),
        st.sampled_from([2, 3, 20]),
        st.sampled_from([0.0, 0.01, 2 * PATIENCE]),
    ),
)
KINDS = {
    "clients of Sudoku's page": Kind(
        "request.json",
        lambda path: path.write_text(json.dumps(RIGHT)),
        _read,
        st.one_of(refused, free, st.builds(_several, free, free)),
        share=0.5,
    )
}
