"""A page on this machine on which a visitor types a puzzle and watches the network solve it."""

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import numpy as np

from rrn.data_prep.sudoku.reading import read_puzzles
from rrn.data_prep.sudoku.solver import count_solutions
from rrn.pages import Example, Step, as_json, render
from rrn.tasks.sudoku.drawing import belief_marks, board_marks
from rrn.tasks.sudoku.solving import is_solution, likeliest, verdict

ADDRESS = "127.0.0.1"
MOST_SHOWN = 100  # steps, evenly spaced


def answer(puzzle: np.ndarray, beliefs: np.ndarray) -> str:
    """Shows how a puzzle `[81]` is solved, by its digits' probabilities `[81, steps, 10]`.

    In JSON: "says", a sentence; "solution", its 81 digits; "examples" for the page's player.
    """
    count = beliefs.shape[1]
    shown = np.linspace(0, count - 1, min(count, MOST_SHOWN)).round().astype(int)
    by_step = beliefs.swapaxes(0, 1)[shown]
    solutions, confidence = likeliest(by_step)
    valid = is_solution(puzzle[None], solutions[-1:])[0]
    example = Example(
        title=f"{np.count_nonzero(puzzle)} givens",
        question="A digit's area is its probability.",
        drawing=board_marks(puzzle),
        steps=[
            Step(
                marks=belief_marks(puzzle, step),
                note=f"The least certain digit has a probability of {100 * p.min():.1f} %.",
            )
            for step, p in zip(by_step, confidence, strict=True)
        ],
    )
    says = verdict(valid, *count_solutions(puzzle[None]))
    texts = {
        "says": f"After {count} steps the solution is {says}.",
        "solution": "".join(map(str, solutions[-1])),
    }
    return f'{json.dumps(texts)[:-1]}, "examples": {as_json([example])}}}'


class Server(ThreadingHTTPServer):
    """A server on 127.0.0.1, which no other machine reaches.

    `/` is the page, and `/solve?puzzle=...` gives an `answer`, or {"error": what is wrong}.

    Args:
      port: where to listen; 0 for any free port.
      beliefs: from a puzzle `[81]` to probabilities `[81, steps, 10]`; called once at a time.
    """

    def __init__(self, port: int, beliefs: Callable[[np.ndarray], np.ndarray]):
        self.beliefs, self.one_at_a_time = beliefs, threading.Lock()
        super().__init__((ADDRESS, port), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    timeout = 10  # seconds of one read or write

    def do_GET(self) -> None:
        """Answers requests to this machine by its own name, which no other site's page can send."""
        url = urlsplit(self.path)
        if self.headers.get("Host", "").partition(":")[0] not in (ADDRESS, "localhost"):
            self.send_error(403, f"the address is http://{ADDRESS}:{self.server.server_port}")
        elif url.path == "/":
            self._send("text/html; charset=utf-8", render("tasks/sudoku/page.html"))
        elif url.path == "/solve":
            self._send("application/json", self._solve(parse_qs(url.query).get("puzzle", [""])[0]))
        else:
            self.send_error(404)

    def _solve(self, text):
        try:
            puzzles = read_puzzles(text)
        except ValueError as error:
            return json.dumps({"error": str(error)})
        with self.server.one_at_a_time:
            return answer(puzzles[0], self.server.beliefs(puzzles[0]))

    def _send(self, kind, content):
        content = content.encode()
        with contextlib.suppress(ConnectionError):  # the visitor has left
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Prints nothing."""
