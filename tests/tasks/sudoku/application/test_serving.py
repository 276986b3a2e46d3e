"""The page that takes puzzles: what the server answers and to whom, and the page in a browser."""

import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.parse

import numpy as np
import pytest

from rrn.tasks.sudoku.application import serving
from rrn.tasks.sudoku.application.boards import is_solution, likeliest
from rrn.tasks.sudoku.application.drawing import LEVELS
from rrn.tasks.sudoku.application.serving import ADDRESS, Server
from rrn.tasks.sudoku.application.solving import PRETRAINED, Solver
from tests.browser import open_page
from tests.tasks.sudoku.boards import GRID, puzzles, text

STEPS = 3


@contextlib.contextmanager
def serve(solve):
    """Yields a server that runs in a thread."""
    with Server(0) as server:
        server.solve = solve
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def solver(weights):
    return Solver(weights, STEPS)


@pytest.fixture(scope="module")
def port(solver):
    with serve(solver.show) as server:
        yield server.server_port


def get(port, path, **headers):
    """(status, kind, content) of an answer."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], content


def solve(port, puzzle, turn=0):
    path = f"/solve?puzzle={urllib.parse.quote(puzzle)}&turn={turn}"
    status, kind, content = get(port, path)
    assert kind == "application/json"
    return status, json.loads(content)


# Answers


def test_a_puzzle_is_answered_with_its_steps(port, solver):
    (puzzle,) = puzzles(1)
    status, shown = solve(port, text(puzzle))
    assert status == 200 and shown["puzzle"] == text(puzzle)
    assert len(shown["steps"]) == len(shown["notes"]) == STEPS
    beliefs = solver.beliefs(puzzle[None]).numpy()[0]
    for step, (letters, note) in enumerate(zip(shown["steps"], shown["notes"], strict=True)):
        _, confidence = likeliest(beliefs[None, :, step])
        assert note == f"Not solved: the least certain digit has {100 * confidence.min():.1f} %."
        levels = np.array([LEVELS.index(letter) for letter in letters]).reshape(-1, 9)
        expected = beliefs[puzzle == 0, step, 1:]
        np.testing.assert_allclose((levels / 63) ** 2, expected, atol=0.016)
    solution, _ = likeliest(beliefs[None, :, -1])
    assert shown["solution"] == text(solution[0]) and shown["solved"] is False
    assert shown["says"] == "The puzzle has more than one solution." and shown["solvable"]


def test_a_puzzle_without_a_solution_is_told_and_not_tried_again(port, tmp_path):
    unsolvable = "5168497323.76.5...8.97...65135.6.9.7472591..696837..5.253186.746842.75..791.5.6.8"
    with open_page(f"http://{ADDRESS}:{port}/", tmp_path) as page:
        paste(page, unsolvable)
        page.wait_for(f"{CELLS}.some(cell => cell.value)")
        page.press("Enter")
        wait_for_solution(page, STEPS)
        assert page.texts("#says") == ["The puzzle has no solution."]
        assert page.texts("#again") == page.texts("#copy") == []


@pytest.mark.parametrize(("num_steps", "shown"), [(64, 64), (128, 100)])
def test_an_answer_is_small_even_of_a_blank_board(weights, num_steps, shown):
    with serve(Solver(weights, num_steps).show) as server:
        status, _, content = get(server.server_port, f"/solve?puzzle={'.' * 81}")
    assert status == 200 and len(json.loads(content)["steps"]) == shown and len(content) < 100_000


def test_a_turned_puzzle_is_answered_as_it_was_given():
    """With published weights."""
    with serve(Solver(PRETRAINED, 32).show) as server:
        puzzle = text(puzzles(1, givens=45)[0])
        answers = [solve(server.server_port, puzzle, turn)[1] for turn in (0, 1)]
    assert all(answer["solved"] and answer["solution"] == text(GRID) for answer in answers)
    assert answers[0]["puzzle"] == answers[1]["puzzle"]
    assert answers[0]["steps"][0] != answers[1]["steps"][0]


@pytest.mark.parametrize(
    ("puzzle", "message"),
    [
        ("", "the puzzle: no puzzle"),
        ("<b>" + "." * 78, "the puzzle, line 1: '<b>...."),
        ("11" + "." * 79, "the puzzle, line 1: no solution, the digit 1 is twice in a row"),
        ("." * 5000, "the puzzle: 5,000 characters; expected 81, or nine lines of 9"),
        ("." * 81 + "\n" + "." * 81, "the puzzle: there are 2; expected one"),
    ],
)
def test_what_is_no_puzzle_is_said(port, puzzle, message):
    status, answer = solve(port, puzzle)
    assert status == 400 and answer["error"].startswith(message)


def test_a_turn_is_a_number(port):
    status, answer = solve(port, "." * 81, "x")
    assert status == 400 and answer["error"] == "turn: 'x'; expected a number from 0 to 999"


def test_a_puzzle_of_any_form_is_read(port):
    (puzzle,) = puzzles(1)
    rows = "\n".join(text(puzzle)[i : i + 9] for i in range(0, 81, 9)).replace(".", "*")
    status, _, content = get(port, f"/read?text={urllib.parse.quote(rows)}")
    assert status == 200 and json.loads(content) == {"puzzle": text(puzzle)}
    status, _, content = get(port, "/read?text=nine")
    assert status == 400 and "has the character 'n'" in json.loads(content)["error"]


# To whom


@pytest.mark.parametrize("host", ["{}", "{}:{port}", "{}:9000"])
@pytest.mark.parametrize("name", [ADDRESS, "localhost", "LocalHost"])
def test_this_machine_is_answered_by_its_name_at_any_port(port, host, name):
    """A tunnel has another port than the server."""
    host = host.format(name, port=port)
    for headers in ({}, {"Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin"}):
        assert get(port, "/", Host=host, **headers)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.com"},
        {"Host": "example.com:8000"},
        {"Host": "127.0.0.1.example.com"},
        {"Host": ""},
        {"Origin": "http://example.com"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_pages_of_other_sites_are_refused(port, headers):
    for path in ("/", "/read?text=1", f"/solve?puzzle={'.' * 81}"):
        status, _, content = get(port, path, **headers)
        assert status == 403 and "aria-label" not in content


def test_nothing_else_is_there(port):
    assert get(port, "/etc/passwd")[0] == get(port, "/../page.html")[0] == 404


def test_it_listens_on_the_loopback_address_alone():
    with Server(0) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"


# Under load


def connect(port):
    return socket.create_connection((ADDRESS, port), timeout=60)


def ask(port):
    """A connection that has asked for a puzzle and does not read the answer."""
    connection = connect(port)
    connection.sendall(b"GET /solve?puzzle=" + b"." * 81 + b" HTTP/1.0\r\nHost: localhost\r\n\r\n")
    return connection


def wait_until(condition):
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


class Slow:
    """Solves nothing until it may; meanwhile it looks whether somebody still waits."""

    def __init__(self):
        self.started, self.gone, self.may = 0, 0, threading.Event()
        self.looks = threading.Event()
        self.looks.set()

    def __call__(self, puzzle, turn, wanted):
        self.started += 1
        while not self.may.wait(0.02):
            if self.looks.is_set() and not wanted():
                self.gone += 1
                return None
        return {}


def test_requests_beyond_a_few_are_told_to_come_again():
    slow = Slow()
    with serve(slow) as server:
        waiting = [ask(server.server_port) for _ in range(1 + serving.WAITING)]
        wait_until(lambda: server.places._value == 0)
        status, answer = solve(server.server_port, "." * 81)
        assert status == 503 and answer["error"].startswith("too many puzzles wait")
        assert get(server.server_port, "/")[0] == 200  # the page itself needs no place
        slow.may.set()
        for connection in waiting:
            assert connection.recv(100).startswith(b"HTTP/1.0 200")
            connection.close()
        assert solve(server.server_port, "." * 81)[0] == 200


def test_work_for_those_who_have_left_is_dropped(capfd):
    slow = Slow()
    with serve(slow) as server:
        slow.looks.clear()
        waiting = [ask(server.server_port) for _ in range(1 + serving.WAITING)]
        wait_until(lambda: server.places._value == 0)
        for connection in waiting:
            connection.close()
        slow.looks.set()
        wait_until(lambda: server.places._value == 1 + serving.WAITING)
        assert slow.gone == slow.started == 1 + serving.WAITING
        slow.may.set()
        assert solve(server.server_port, "." * 81)[0] == 200
        resets = [ask(server.server_port) for _ in range(5)]
        for connection in resets:  # closed with a reset, as of a program that was killed
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        wait_until(lambda: not server._since)
    assert capfd.readouterr().err == ""


def test_requests_that_never_end_are_hung_up_on(monkeypatch):
    monkeypatch.setattr(serving, "SECONDS", 0.5)
    monkeypatch.setattr(serving, "CONNECTIONS", 20)
    with serve(Slow()) as server:
        before = threading.active_count()
        hanging = [connect(server.server_port) for _ in range(20)]
        for connection in hanging:
            connection.sendall(b"GET / HT")
        wait_until(lambda: len(server._since) == 20)
        one_more = connect(server.server_port)
        assert one_more.recv(100).startswith(b"HTTP/1.0 503")
        until = time.monotonic() + 30
        while server._since:  # one that goes on sending is no exception
            assert time.monotonic() < until
            with contextlib.suppress(OSError):
                hanging[0].sendall(b"x")
            time.sleep(0.1)
        wait_until(lambda: threading.active_count() == before)
        assert get(server.server_port, "/")[0] == 200
        for connection in (*hanging, one_more):
            connection.close()


def test_a_mistake_of_the_program_is_said_in_a_line(capfd):
    def fail(*_):
        raise RuntimeError("broken")

    with serve(fail) as server:
        with pytest.raises(http.client.RemoteDisconnected):
            solve(server.server_port, "." * 81)
        assert server.places._value == 1 + serving.WAITING
        assert not server.one_at_a_time.locked()
    assert capfd.readouterr().err == "error: RuntimeError: broken\n"


# In a browser

CELLS = "[...document.querySelectorAll('#board input')]"


def typed(page):
    return "".join(page.evaluate(f"{CELLS}.map(cell => cell.value || '.')"))


def focused(page):
    """The number of the cell that has the focus, or the element's id."""
    active = "document.activeElement"
    return page.evaluate(f"{active}.id || {CELLS}.indexOf({active})")


def wait_for_solution(page, steps):
    page.wait_for("document.getElementById('solving').style.display === 'block'")
    page.wait_for("document.getElementById('solve').textContent === 'Solve'")
    page.wait_for(f"document.getElementById('step').value === '{steps}'")


def test_a_visitor_types_a_puzzle_and_watches(port, tmp_path):
    puzzle = puzzles(1)[0]
    with open_page(f"http://{ADDRESS}:{port}/", tmp_path) as page:
        assert focused(page) == 0
        for i, digit in enumerate(text(puzzle)):
            page.press(digit if digit != "." else ("0", " ", ".", "ArrowRight")[i % 4])
        assert typed(page) == text(puzzle) and focused(page) == "solve"
        page.press("Enter")
        wait_for_solution(page, STEPS)
        assert page.texts("#which") == [f"Step {STEPS} of {STEPS}"]
        (note,) = page.texts("#note")
        assert note.startswith("Not solved: the least certain digit has ")
        givens = page.texts("#drawing text.given")
        assert givens == [digit for digit in text(puzzle) if digit != "."]
        assert page.texts("#says") == ["The puzzle has more than one solution."]
        page.press("Home")
        assert page.texts("#which") == [f"Step 1 of {STEPS}"]

        page.evaluate("document.getElementById('clear').click()")
        page.press("1", "1", "Enter")
        page.wait_for("document.getElementById('error').textContent")
        (error,) = page.texts("#error")
        assert error.startswith("the puzzle, line 1: no solution, the digit 1 is twice in a row")
        page.resize(360, 740, mobile=True)
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert {url.split("/")[2] for url in page.requests()} == {f"{ADDRESS}:{port}"}


def test_keys_do_what_people_expect(port, tmp_path):
    with open_page(f"http://{ADDRESS}:{port}/", tmp_path) as page:
        page.press("1", "2", "3", "ArrowLeft")
        assert focused(page) == 2
        page.press("Delete")
        assert typed(page).startswith("12.") and focused(page) == 2
        page.press("Backspace")  # of an empty cell: the one before
        assert typed(page).startswith("1..") and focused(page) == 1
        page.press("ArrowLeft", "Backspace")
        assert typed(page) == "." * 81 and focused(page) == 0
        page.press("Backspace")
        assert focused(page) == 0
        page.press("4", "ArrowLeft", "5")  # a digit takes the other one's place
        assert typed(page).startswith("5.") and focused(page) == 1
        page.press("ArrowLeft", "0")
        assert typed(page) == "." * 81 and focused(page) == 1
        page.press("ArrowDown", "ArrowDown", "x", "7")
        assert focused(page) in (20, 21)
        page.press("Tab")
        assert focused(page) == "solve"  # at once, not after all cells
        page.evaluate(f"{CELLS}[40].focus()")
        page.press("Tab")
        assert focused(page) == "solve"


def paste(page, words):
    page.evaluate(
        "(() => { const data = new DataTransfer(); data.setData('text/plain', "
        f"{json.dumps(words)}); {CELLS}[0].dispatchEvent(new ClipboardEvent('paste', "
        "{clipboardData: data, bubbles: true, cancelable: true})); })()"
    )


def test_a_solution_is_copied_and_an_unsolved_puzzle_tried_again(tmp_path):
    """With published weights, and so few steps that most boards are not solved at once."""
    solver, some = Solver(PRETRAINED, 8), puzzles(60, givens=36)
    unsolved = some[~solver.solve(some).valid]
    shown = ((turn, puzzle) for puzzle in unsolved for turn in range(1, 5))
    turns, puzzle = next(pair for pair in shown if solver.show(pair[1], pair[0])["solved"])
    with serve(solver.show) as server:
        url = f"http://{ADDRESS}:{server.server_port}/"
        with open_page(url, tmp_path) as page:
            rows = [text(puzzle)[i : i + 9].replace(".", " ") for i in range(0, 81, 9)]
            paste(page, "\n".join(f"|{row[:3]}|{row[3:6]}|{row[6:]}|" for row in rows))
            page.wait_for(f"{CELLS}.some(cell => cell.value)")
            assert typed(page) == text(puzzle)
            page.press("Tab", "Enter")
            wait_for_solution(page, 8)
            for _ in range(turns):
                assert page.texts("#again") == ["Try again"] and page.texts("#copy") == []
                before = page.evaluate("performance.getEntriesByType('resource').length")
                page.evaluate("document.getElementById('again').click()")
                page.wait_for(f"performance.getEntriesByType('resource').length > {before}")
                wait_for_solution(page, 8)
            (solution,) = page.texts("#solution")
            assert is_solution(puzzle[None], np.array([[int(d) for d in solution]]))[0]
            assert page.texts("#again") == []
            page.evaluate("navigator.clipboard.writeText = words => { window.copied = words; }")
            page.evaluate("document.getElementById('copy').click()")
            page.wait_for("document.getElementById('copied').textContent === 'Copied.'")
            assert page.evaluate("window.copied") == solution
            assert not page.complaints()


def test_the_page_says_that_no_answer_has_come(tmp_path):
    with (
        serve(lambda *_: 1 / 0) as server,
        open_page(f"http://{ADDRESS}:{server.server_port}/", tmp_path) as page,
    ):
        page.press("1", "Enter")
        page.wait_for("document.getElementById('error').textContent")
        assert page.texts("#error") == ["The server does not answer; has it been stopped?"]
        assert page.texts("#solve") == ["Solve"]
