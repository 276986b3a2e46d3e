"""The page that takes puzzles: what the server answers and to whom, and the page in a browser."""

import http.client
import json
import threading
import urllib.parse

import numpy as np
import pytest

from rrn.tasks.sudoku.application.serving import ADDRESS, make_server
from rrn.tasks.sudoku.application.solving import PAPER_MODEL, Solver, solutions_from
from tests.browser import open_page
from tests.tasks.sudoku.boards import puzzles, text

STEPS = 3


@pytest.fixture(scope="module")
def solver(weights):
    return Solver(PAPER_MODEL, weights, STEPS)


@pytest.fixture(scope="module")
def port(solver):
    with make_server(solver.example, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def get(port, path, host=None):
    """(status, kind, content) of an answer."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=60)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], content


def solve(port, puzzle):
    status, kind, content = get(port, f"/solve?puzzle={urllib.parse.quote(puzzle)}")
    assert kind == "application/json"
    return status, json.loads(content)


def test_a_puzzle_is_answered_with_its_steps(port, solver):
    puzzle = puzzles(1)
    status, (example,) = solve(port, text(puzzle[0]))
    assert status == 200 and len(example["steps"]) == STEPS
    beliefs = solver.beliefs(puzzle).numpy()
    for step, shown in enumerate(example["steps"]):
        found = solutions_from(puzzle, beliefs[:, :, step])
        percent = 100 * found.confidence.min()
        assert shown["note"] == f"Not solved: the least certain digit has {percent:.1f} %."
        drawn = sum(np.count_nonzero(p[1:] > 0.02) for p in beliefs[0, puzzle[0] == 0, step])
        assert len(shown["marks"]) == drawn


@pytest.mark.parametrize(
    ("puzzle", "message"),
    [
        ("", "the puzzle: '' has 0 characters; expected 81"),
        (
            "<b>" + "." * 78,
            "the puzzle: character 1 is '<'; expected digits, and 0 or . for a blank",
        ),
        ("11" + "." * 79, "the puzzle: no solution, the digit 1 is twice in a row"),
    ],
)
def test_what_is_no_puzzle_is_said(port, puzzle, message):
    status, answer = solve(port, puzzle)
    assert status == 400 and answer["error"].startswith(message)


def test_only_this_machine_by_its_own_name_is_answered(port):
    assert get(port, "/")[0] == get(port, "/", f"localhost:{port}")[0] == 200
    for host in ("example.com", f"example.com:{port}", ADDRESS):
        status, _, content = get(port, "/", host)
        assert status == 403 and "aria-label" not in content
    assert get(port, "/etc/passwd")[0] == get(port, "/../page.html")[0] == 404


def test_it_listens_on_the_loopback_address_alone(solver):
    with make_server(solver.example, 0) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_visitor_types_a_puzzle_and_watches(port, tmp_path):
    puzzle = puzzles(1)[0]
    with open_page(f"http://{ADDRESS}:{port}/", tmp_path) as page:
        page.evaluate("document.querySelector('#board input').focus()")
        for digit in text(puzzle):
            page.press(digit if digit in "123456789" else "ArrowRight")
        typed = page.evaluate("[...document.querySelectorAll('#board input')].map(c => c.value)")
        assert "".join(cell or "." for cell in typed) == text(puzzle)
        page.press("Enter")
        page.wait_for("document.getElementById('solving').style.display === 'block'")
        page.wait_for("document.getElementById('step').value === '3'")
        assert page.texts("#which") == ["Step 3 of 3"]
        (note,) = page.texts("#note")
        assert note.startswith("Not solved: the least certain digit has ")
        givens = page.texts("#drawing text.given")
        assert givens == [digit for digit in text(puzzle) if digit != "."]
        page.press("Home")
        assert page.texts("#which") == ["Step 1 of 3"]

        page.evaluate("document.getElementById('clear').click()")
        page.evaluate("document.querySelector('#board input').focus()")
        page.press("1", "1", "Enter")
        page.wait_for("document.getElementById('error').textContent")
        (error,) = page.texts("#error")
        assert error.startswith("the puzzle: no solution, the digit 1 is twice in a row")
        page.resize(360, 740, mobile=True)
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert {url.split("/")[2] for url in page.requests()} == {f"{ADDRESS}:{port}"}
