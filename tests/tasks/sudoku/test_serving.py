"""The page that takes puzzles: what the server answers and to whom, and the page in a browser."""

import http.client
import json
import threading
import urllib.parse

import numpy as np
import pytest

from rrn.tasks.sudoku import serving
from rrn.tasks.sudoku.solving import Solver
from tests.browser import open_page
from tests.tasks.sudoku.boards import GRID, puzzles, text


@pytest.fixture(scope="module")
def port():
    """Of a server with the published weights, which runs in a thread."""
    with serving.Server(0, Solver(num_steps=8).beliefs) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def get(port, path, host="localhost", **query):
    """(status, content) of an answer."""
    connection = http.client.HTTPConnection(serving.ADDRESS, port, timeout=60)
    path = f"{path}?{urllib.parse.urlencode(query)}"
    connection.request("GET", path, headers={"Host": f"{host}:{port}"})
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content


def test_a_puzzle_is_answered_with_its_steps(port):
    (puzzle,) = puzzles(1, givens=60)
    status, content = get(port, "/solve", puzzle=text(puzzle))
    answer = json.loads(content)
    assert status == 200 and answer["solution"] == text(GRID)
    assert answer["says"] == "After 8 steps the solution is valid; the puzzle has one solution."
    (example,) = answer["examples"]
    assert example["title"] == "60 givens" and len(example["steps"]) == 8
    digits = [digit for name, _, digit in example["steps"][-1]["marks"] if name == "text"]
    assert "".join(digits) == text(GRID[puzzle == 0])


def test_of_many_steps_some_are_shown(monkeypatch):
    monkeypatch.setattr(serving, "MOST_SHOWN", 5)
    beliefs = np.full([81, 17, 10], 0.1)
    answer = json.loads(serving.answer(puzzles(1, givens=0)[0], beliefs))
    assert len(answer["examples"][0]["steps"]) == 5
    assert answer["says"].startswith("After 17 steps the solution is invalid")


def test_what_is_no_puzzle_is_said(port):
    status, content = get(port, "/solve", puzzle="11" + "." * 79)
    assert status == 200 and "the digit 1 is twice in a row" in json.loads(content)["error"]


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/", "127.0.0.1", 200),
        ("/", "localhost", 200),
        ("/", "rebound.example", 403),
        ("/solve", "rebound.example", 403),
        ("/other", "localhost", 404),
    ],
)
def test_only_requests_to_this_machine_by_its_name_are_answered(port, path, host, status):
    assert get(port, path, host=host)[0] == status


def test_a_visitor_types_a_puzzle_and_watches(port, tmp_path):
    (puzzle,) = puzzles(1, givens=60)
    with open_page(f"http://localhost:{port}/", tmp_path) as page:
        page.press("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", *text(puzzle), "Enter")
        page.wait_for("document.getElementById('solution').value")
        assert page.texts("#solution") == [text(GRID)]
        assert "valid; the puzzle has one solution" in page.texts("#says")[0]
        page.wait_for("document.getElementById('which').value === 'Step 8 of 8'")
        assert page.texts("#drawing text.given") == list(text(puzzle).replace(".", ""))
        page.evaluate("document.querySelector('[type=reset]').click()")
        assert (
            page.evaluate(
                "[...document.querySelectorAll('#board input')].map(i => i.value).join('')"
            )
            == ""
        )
        page.evaluate("document.querySelector('#board input').focus()")
        page.press("1", "1", "Enter")
        page.wait_for("document.getElementById('error').textContent.includes('twice in a row')")
        assert page.complaints() == []
