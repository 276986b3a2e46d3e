"""A page on which a visitor of this machine types a puzzle and watches the network solve it."""

import contextlib
import http
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rrn.data_prep.sudoku.reading import read_text
from rrn.pages import render
from rrn.tasks.sudoku.application.drawing import LEVELS

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost", "[::1]")  # by which this machine may be called, at any port
WAITING = 8  # requests that wait while one is solved; others are told to come again
CONNECTIONS = 256  # at a time
SECONDS = 10  # in which a request has to be complete, and its answer taken
LONGEST = 4096  # characters of a puzzle

# Given a puzzle's digits [81], which turn of it, and whether anybody waits: what is shown of it, or
# None if nobody waited any longer.
Solve = Callable[[Any, int, Callable[[], bool]], dict[str, Any] | None]


class Server(ThreadingHTTPServer):
    """A server on 127.0.0.1 and on no other address.

    `/` is the page. `/read?text=...` reads a puzzle in any form of `data_prep.sudoku.reading`, and
    gives its 81 characters. `/solve?puzzle=...` gives what `solve` does; `&turn=1` that of the
    puzzle turned and relabelled, `&turn=2` of another such form. With status 400 the answer is
    {"error": what is wrong with the puzzle}, with 503 that too many wait.

    Only requests to this machine by its own name are answered, and none that a page of another site
    has made. Any port will do, as a tunnel may have another one. A connection that brings no whole
    request in time is closed.

    Args:
      port: where to listen; 0 for any free port.

    Attributes:
      solve: a `Solve`, called once at a time; to be set before `serve_forever`.

    Raises:
      OSError: the port is taken.
    """

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, port: int):
        self.solve: Solve | None = None
        self.page = render("tasks/sudoku/application/page.html", levels=LEVELS).encode()
        self.one_at_a_time = threading.Lock()
        self.places = threading.BoundedSemaphore(1 + WAITING)
        self._since: dict[socket.socket, float] = {}
        super().__init__((ADDRESS, port), Handler)

    def process_request(self, request: socket.socket, client_address: Any) -> None:
        """Starts a thread for a connection, unless there are too many.

        Args:
          request: the connection.
          client_address: whose it is.
        """
        if len(self._since) >= CONNECTIONS:
            with contextlib.suppress(OSError):
                request.sendall(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 5\r\n\r\n")
            self.shutdown_request(request)
            return
        self._since[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:
        """Closes a connection.

        Args:
          request: the connection.
        """
        self._since.pop(request, None)
        super().shutdown_request(request)

    def has_request(self, connection: socket.socket) -> None:
        """Takes note that a connection has brought its request, and may take its time.

        Args:
          connection: the connection.
        """
        self._since[connection] = float("inf")

    def service_actions(self) -> None:
        """Hangs up on connections without a request; `serve_forever` calls it twice a second."""
        for connection, since in list(self._since.items()):
            if time.monotonic() - since > SECONDS:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: socket.socket, client_address: Any) -> None:
        """Says in a line what went wrong, unless a client has hung up.

        Args:
          request: the connection.
          client_address: whose it is.
        """
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    timeout = SECONDS  # of one read or write

    def do_GET(self) -> None:
        """Answers a request that is allowed."""
        self.server.has_request(self.connection)
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if why := self._refusal():
            self.send_error(http.HTTPStatus.FORBIDDEN, why)
        elif url.path == "/":
            self._send(http.HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)
        elif url.path == "/read":
            self._answer(lambda: {"puzzle": _read(query.get("text", ""))[0]})
        elif url.path == "/solve":
            self._answer(lambda: self._solve(query))
        else:
            self.send_error(http.HTTPStatus.NOT_FOUND)

    def _refusal(self):
        """Why the request is refused; None if it is not."""
        host = self.headers.get("Host", "")
        if (host.rpartition(":")[0] or host).lower() not in NAMES:
            return f"the address is http://{ADDRESS}:{self.server.server_port}"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "another site's page has asked; type the address yourself"
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            return "another site's page has asked; type the address yourself"
        return None

    def _answer(self, answer):
        status = http.HTTPStatus.OK
        try:
            content = answer()
        except ValueError as error:
            status, content = http.HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except BusyError as error:
            status, content = http.HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        if content is not None:  # somebody waits
            data = json.dumps(content, separators=(",", ":")).encode()
            self._send(status, "application/json", data)

    def _solve(self, query):
        _, digits = _read(query.get("puzzle", ""))
        turn = query.get("turn", "0")
        if not (turn.isascii() and turn.isdigit() and len(turn) < 4):
            raise ValueError(f"turn: {turn!r}; expected a number from 0 to 999")
        server = self.server
        if not server.places.acquire(blocking=False):
            raise BusyError("too many puzzles wait to be solved; try again in a few seconds")
        try:
            while not server.one_at_a_time.acquire(timeout=0.5):
                if not self._is_waiting():
                    return None
            try:
                assert server.solve is not None  # before it serves
                return server.solve(digits, int(turn), self._is_waiting)
            finally:
                server.one_at_a_time.release()
        finally:
            server.places.release()

    def _is_waiting(self):
        """Whether the client is still there. One that has left has closed its end."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):  # reset, or closed here
            return False

    def _send(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "5")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing.

        Args:
          format, arguments: what would be said.
        """


class BusyError(Exception):
    """Too many puzzles wait."""


def _read(text):
    """The puzzle of a text: (its 81 characters, `.` for a blank; its digits)."""
    if len(text) > LONGEST:
        raise ValueError(f"the puzzle: {len(text):,} characters; expected 81, or nine lines of 9")
    digits = read_text(text, "the puzzle")
    if len(digits) > 1:
        raise ValueError(f"the puzzle: there are {len(digits)}; expected one")
    return "".join(map(str, digits[0])).replace("0", "."), digits[0]
