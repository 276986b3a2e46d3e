"""A page on which a visitor of this machine types a puzzle and watches the network solve it."""

import http
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from rrn.pages import Example, as_json, render

ADDRESS = "127.0.0.1"


def make_server(solve: Callable[[str], Example], port: int) -> ThreadingHTTPServer:
    """Makes a server that listens on 127.0.0.1 and on no other address.

    `/` is the page. `/solve?puzzle=...` is a list with the example as JSON, or with status 400
    {"error": what is wrong with the puzzle}. Only requests to this address by its name are
    answered, so that no page of another site can reach it under a name of its own.

    Args:
      solve: from a puzzle to the example to show. It is called once at a time. It raises
        ValueError for what is no puzzle.
      port: where to listen; 0 for any free port.

    Returns:
      The server; `serve_forever` runs it, `server_port` is its port.

    Raises:
      OSError: the port is taken.
    """
    page, one_at_a_time = render("tasks/sudoku/application/page.html").encode(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            host = f"{ADDRESS}:{server.server_port}"
            if self.headers["Host"] not in (host, f"localhost:{server.server_port}"):
                self.send_error(http.HTTPStatus.FORBIDDEN, f"the address is http://{host}")
                return
            url = urlsplit(self.path)
            if url.path == "/":
                self._send(http.HTTPStatus.OK, "text/html; charset=utf-8", page)
            elif url.path == "/solve":
                self._solve(parse_qs(url.query).get("puzzle", [""])[0])
            else:
                self.send_error(http.HTTPStatus.NOT_FOUND)

        def _solve(self, puzzle):
            try:
                with one_at_a_time:
                    status, answer = http.HTTPStatus.OK, as_json([solve(puzzle)])
            except ValueError as error:
                status, answer = http.HTTPStatus.BAD_REQUEST, json.dumps({"error": str(error)})
            self._send(status, "application/json", answer.encode())

        def _send(self, status, kind, content):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format, *arguments):
            pass

    server = ThreadingHTTPServer((ADDRESS, port), Handler)  # the handler asks for its port
    return server
