"""The page of a run, in a browser: what it shows, and its examples step by step."""

import dataclasses

import pytest
from matplotlib.figure import Figure

from rrn.pages import Example, Step, Table
from rrn.training.evaluate import make_page
from tests.browser import open_page

STORY = Example(
    title="a story",
    question="where is mary?",
    right="garden",
    right_probabilities=[0.25, 0.875],
    lines=["mary went to the office", "mary went to the garden"],
    steps=[
        Step(answers=[("office", 0.75), ("garden", 0.25)], strengths=[4.0, 2.0]),
        Step(answers=[("garden", 0.875), ("office", 0.125)], strengths=[1.0, 3.0]),
    ],
)
ONE_STEP = dataclasses.replace(STORY, steps=STORY.steps[:1], right_probabilities=[0.25])
BOARD = Example(
    title="a board",
    question="what comes?",
    drawing=[("rect", {"width": 10, "height": 10}, "")],
    steps=[
        Step(marks=[("text", {"x": 5, "y": 5}, digit)], note=f"{digit} cells are right")
        for digit in "1234"
    ],
)
RESULTS = {
    "config": "configs/babi.py:quick",
    "split": "test",
    "tested_on": "test split of data/babi.h5, 20,000 examples; simulated",
    "notes": "Task 3: simulated stories",
    "made": {
        "date": "2026-11-26T20:49:00+00:00",
        "update": 20_000,
        "minutes": 118.5,
        "devices": ["/device:CPU:0"],
        "processor": "2 cores of AMD EPYC, with AVX2",
        "gpus": [],
        "python": "3.11.7",
        "commit": "55749d4",
        "rrn": "0.1.0",
        "tensorflow": "2.21.0",
    },
}
GROUPS = Table(("task", "examples", "wrong answers, %"), [("1 facts", "1,000", "2.5")])
VARIABLES = [
    {"name": "readout/w", "shape": [128, 177], "bytes": 90_624, "device": "CPU:0"},
    {"name": "readout/b", "shape": [177], "bytes": 708, "device": "GPU:1"},
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    figure = Figure(figsize=(12, 2))
    figure.subplots().plot([1, 2])
    figure.savefig(folder / "error_by_task.png")
    table = Table(("error, %", "step 1", "paper"), [("mean error", "12.5", "0.46")], ["a note"])
    figures, examples = [folder / "error_by_task.png"], [STORY, BOARD, ONE_STEP]
    page = make_page(RESULTS, table, GROUPS, examples, figures, {"train.l2": 1e-5}, VARIABLES)
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser(path, tmp_path_factory):
    with open_page(path.as_uri(), tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser, path):
    browser.resize(1000, 800)
    browser.show(path.as_uri())
    return browser


def test_all_is_shown_and_nothing_loaded(page, path):
    assert page.texts("h1") == ["configs/babi.py:quick"]
    assert page.texts("h2 + p") == ["test split of data/babi.h5, 20,000 examples; simulated"]
    cells = page.texts("th, td")
    assert cells[:6] == ["error, %", "step 1", "paper", "mean error", "12.5", "0.46"]
    for row in (["1 facts", "1,000", "2.5"], ["train.l2", "1e-05"], ["readout/w", "128x177"]):
        assert cells[cells.index(row[0]) :][: len(row)] == row
    assert page.texts("figcaption") == ["error by task"]
    assert page.evaluate("document.images[0].naturalWidth") == 1200
    assert page.requests() == [path.as_uri()] and page.complaints() == []


def test_steps_by_keyboard(page):
    page.evaluate("document.getElementById('play').focus()")
    assert page.texts("#which") == ["Step 1 of 2"] and page.texts("#question") == [STORY.question]
    assert page.texts("#lines li") == ["mary went to the office4.0", "mary went to the garden2.0"]
    assert page.texts("#answers li") == ["office75.0 %", "garden25.0 %"]
    page.press("Tab", "ArrowRight")
    assert page.texts("#which") == ["Step 2 of 2"]
    assert page.texts("#lines li") == ["mary went to the office1.0", "mary went to the garden3.0"]
    assert page.texts("#answers li.right") == ["garden87.5 %"]
    assert page.texts("#by-step li") == ["step 1: garden25.0 %", "step 2: garden87.5 %"]
    assert page.texts("#by-step li.now") == ["step 2: garden87.5 %"]


def test_examples_by_keyboard_and_buttons(page):
    page.evaluate("document.getElementById('choice').focus()")
    page.press("ArrowDown")
    assert page.texts("#question, #note") == ["what comes?", "1 cells are right"]
    assert page.texts("#drawing text") == ["1"] and page.texts("#answers li, #lines li") == []
    page.press("Tab", "Tab", "Tab", "End")
    assert page.texts("#drawing text") == ["4"] and page.texts("#which") == ["Step 4 of 4"]
    page.evaluate("document.getElementById('after').click()")  # an example of one step
    assert page.texts("#answers li") == ["office75.0 %", "garden25.0 %"]
    assert page.texts("#play, #step, #which, #by-step li") == []


def test_play_goes_to_the_end(page):
    page.evaluate("document.getElementById('play').click()")
    page.wait_for("document.getElementById('play').textContent === 'Play'")
    assert page.texts("#which") == ["Step 2 of 2"]


def test_it_fits_a_phone_and_is_dark_where_the_browser_is(page):
    page.resize(360, 740, mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    page.call("Emulation.setEmulatedMedia", features=[scheme])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
    page.call("Emulation.setEmulatedMedia", features=[])


def test_text_is_escaped():
    results = RESULTS | {"config": "<b>&", "notes": "<i>"}
    table = Table(("<a>", "1"), [("<tr>", "<td>")], ["<p>"])
    example = Example("a title", [Step(answers=[("</script>", 0.5)])])
    page = make_page(results, table, Table((), []), [example], [], {"x.<y>": "<z>"}, [])
    assert "&lt;b&gt;&amp;" in page and "\\u003c/script>" in page
    assert not [tag for tag in ("<b>", "<i>", "<a>", "<y>", "<z>") if tag in page]
    assert page.count("<script>") == page.count("</script>") == 2
