"""The page of a run, in a browser: what it shows, its examples step by step, and its charts."""

import dataclasses
import io
import re

import pytest
from matplotlib.figure import Figure
from PIL import Image

from rrn.pages import Chart, Curve, Example, Step, Table
from rrn.training.page import make_page
from tests.browser import open_page

STORY = Example(
    title="a story",
    question="where is mary?",
    right="garden",
    right_probabilities=[0.25, 0.875],
    lines=["mary went to the office", "mary went to the garden"],
    steps=[
        Step(
            answers=[("office", 0.75), ("garden", 0.25)], strengths=[4.0, 2.0], without=[0.5, 0.125]
        ),
        Step(
            answers=[("garden", 0.875), ("office", 0.125)], strengths=[1.0, 3.0], without=[0.9, 0.1]
        ),
    ],
)
ONE_STEP = dataclasses.replace(
    STORY,
    steps=[dataclasses.replace(STORY.steps[0], without=[0.25, 0.5])],
    right_probabilities=[0.25],
)
BOARD = Example(
    title="a board",
    question="what comes?",
    drawing=[("rect", {"width": 10, "height": 10}, "")],
    steps=[
        Step(marks=[("text", {"x": 5, "y": 5}, digit)], note=f"{digit} cells are right")
        for digit in "1234"
    ],
)
DRAWN = "document.querySelectorAll('#charts path').length > 0"
NO_GROUPS = Table((), [])
RESULTS = {
    "config": "configs/babi.py:quick",
    "data": "data/babi.h5",
    "split": "test",
    "examples": 20_000,
    "notes": "Task 3: simulated stories",
    "made": {
        "date": "2026-11-26T20:49:00+00:00",
        "update": 20_000,
        "validation": {
            "of": "wrong answers, %",
            "error": 3.25,
            "count": 12,
            "best_update": 18_000,
            "best_error": 3.0,
        },
        "training_seconds": 7_108.2,
        "examples_per_second": 2_880.3,
        "peak_memory": {"GPU:0": 5 * 2**29, "GPU:1": 2**31},
        "devices": ["/device:CPU:0", "/device:CPU:1"],
        "lacking": "TensorFlow sees no GPU: --devices=0,1 ran as 2 logical CPU devices.",
        "processor": "2 cores of AMD EPYC, with AVX2",
        "gpus": [],
        "python": "3.11.7",
        "commit": "55749d4",
        "rrn": "0.1.0",
        "tensorflow": "2.21.0",
    },
}
GROUPS = Table(("task", "examples", "wrong answers, %"), [("1 facts", "1,000", "2.5")])
CHART = Chart(
    title="wrong answers, %",
    curves=[
        Curve("", "task 1", "training", [(10, 80.0), (20, 60.0), (30, 50.0)]),
        Curve("", "task 1", "validation", [(10, 85.0), (30, None)]),
        Curve("", "mean", "training", [(10, 90.0), (30, 40.5)]),
    ],
    names=["task 1", "mean"],
    shown=["task 1", "mean"],
    marks=[(20, "stage all begins")],
)
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
    config = {"task": "babi", "train.l2": 1e-5}
    config["train.stages.0.objectives.0.schedule.warmup_updates"] = 200
    examples = [STORY, BOARD, ONE_STEP]
    figures = [folder / "error_by_task.png"]
    page = make_page(RESULTS, table, GROUPS, examples, [CHART], figures, config, VARIABLES)
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(path, tmp_path_factory):
    with open_page(path.as_uri(), tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(autouse=True)
def from_the_start(page, path):
    page.resize(1000, 800)
    page.show(path.as_uri())
    page.wait_for(DRAWN)


def test_results_figures_config_and_variables_are_shown(page):
    assert page.texts("h1") == ["configs/babi.py:quick"]
    assert page.texts("header p") == [
        "test split of data/babi.h5, 20,000 examples",
        "Training data: Task 3: simulated stories",
        "TensorFlow sees no GPU: --devices=0,1 ran as 2 logical CPU devices.",
        "The weights of update 20,000 were evaluated. Their validation has wrong answers: 3.25 %; "
        "the best of 12 validations has 3 %, at 18,000.",
        "Evaluated at 2026-11-26 20:49:00 UTC. "
        "Training took 118.5 minutes, at 2,880 examples/s, and at most "
        "GPU:0 2.50 GiB, GPU:1 2.00 GiB of memory. "
        "Evaluated on /device:CPU:0, /device:CPU:1 of 2 cores of AMD EPYC, with AVX2. "
        "rrn 0.1.0 at commit 55749d4, TensorFlow 2.21.0, Python 3.11.7.",
    ]
    assert page.texts("#results th, #results td, #results p") == [
        *("error, %", "step 1", "paper"),
        *("mean error", "12.5", "0.46"),
        "a note",
    ]
    groups = ["task", "examples", "wrong answers, %", "1 facts", "1,000", "2.5"]
    assert page.texts("#groups th, #groups td") == groups
    assert page.texts("#figures figcaption") == ["error by task"]
    assert page.evaluate("document.images[0].naturalWidth") == 1200
    tables = page.evaluate("[...document.querySelectorAll('table')].slice(2).map(t => t.innerText)")
    assert "train.l2\t1e-05" in tables[0] and "readout/w\t128x177\t90,624\tCPU:0" in tables[1]


def test_nothing_is_loaded_and_nobody_complains(page, path):
    assert page.requests() == [path.as_uri()]
    assert page.complaints() == []


def test_steps_by_keyboard(page):
    page.evaluate("document.getElementById('play').focus()")
    assert page.texts("#which") == ["Step 1 of 2"]
    assert page.texts("#question") == ["where is mary?"]
    assert page.texts("#lines li.strongest") == ["mary went to the office4.050.0 %"]
    assert page.texts("#answers li") == ["office75.0 %", "garden25.0 %"]
    assert page.texts("#by-step li.now") == ["step 1: garden25.0 %"]
    page.press("Tab", "ArrowRight")
    assert page.texts("#which") == ["Step 2 of 2"]
    assert page.texts("#lines li.strongest") == ["mary went to the garden3.010.0 %"]
    assert page.texts("#answers li.right") == ["garden87.5 %"]
    assert page.texts("#by-step li") == ["step 1: garden25.0 %", "step 2: garden87.5 %"]
    assert page.texts("#by-step li.now") == ["step 2: garden87.5 %"]
    share = "parseFloat(getComputedStyle({}, '::before').width) / {}.offsetWidth"
    bar = "document.querySelectorAll('#lines li')[0]"
    assert page.evaluate(share.format(bar, bar)) == pytest.approx(1 / 3, abs=0.01)


def test_what_is_said_of_strength_and_of_what_happens_without_a_fact(page):
    assert "Strength is not relevance: " in page.texts("#strengths")[0]
    assert "the probability of the right answer, garden, if" in page.texts("#without")[0]
    assert "below 25.0 %, the one with all sentences" in page.texts("#without")[0]
    assert page.texts("#lines .without") == ["50.0 %", "12.5 %"]
    assert page.texts("#lines .needed") == ["12.5 %"]
    page.evaluate("document.getElementById('before').click()")
    assert page.texts("#lines .needed") == []  # nothing is below what it is with all
    page.evaluate("document.getElementById('after').click()")
    page.evaluate("document.getElementById('after').click()")  # to an example without facts
    assert page.texts("#strengths, #without") == []


def test_one_step_is_not_played(page):
    page.evaluate("document.getElementById('before').click()")  # to the last example
    assert page.texts("#answers li") == ["office75.0 %", "garden25.0 %"]
    assert page.texts("#play, #step, #which, #by-step li") == []
    page.evaluate("document.getElementById('after').click()")
    assert page.texts("#which") == ["Step 1 of 2"] and len(page.texts("#by-step li")) == 2
    only = make_page(RESULTS, "", NO_GROUPS, [ONE_STEP], [], [], {}, [])
    assert "<h2>Examples</h2>" in only


# Charts


def point(page, update, value):
    """Points at a place of the chart, in units of its axes."""
    ends = page.evaluate(
        "[...document.querySelectorAll('#charts path')].map(p => p.getAttribute('d'))"
    )
    (x0, y0), *_, (x1, y1) = [
        tuple(map(float, place.split(","))) for place in ends[0].removeprefix("M").split("L")
    ]  # of task 1 in training: from (10, 80) to (30, 50)
    box = page.evaluate("document.querySelector('#charts svg').getBoundingClientRect().toJSON()")
    x = box["x"] + x0 + (x1 - x0) * (update - 10) / 20
    y = box["y"] + y0 + (y1 - y0) * (80 - value) / 30
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def test_the_value_under_the_pointer_is_said(page):
    page.evaluate("document.querySelector('#charts svg').scrollIntoView()")
    point(page, 21, 61)
    assert page.texts("#charts output") == ["update 20 · stage all begins · task 1, training: 60"]
    point(page, 29, 42)
    assert page.texts("#charts output") == ["update 30 · mean, training: 40.5"]


def test_charts_by_keyboard(page):
    page.evaluate("document.querySelector('#charts svg').focus()")
    assert page.texts("#charts output") == ["update 10 · task 1, training: 80"]
    page.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert page.texts("#charts output") == ["update 30 · task 1, training: 50"]
    page.press("ArrowDown")  # its other point has no value
    assert page.texts("#charts output") == ["update 10 · task 1, validation: 85"]
    page.press("ArrowDown", "ArrowDown", "ArrowUp")
    assert page.texts("#charts output") == ["update 10 · mean, training: 90"]


def test_curves_are_chosen_in_the_legend(page):
    count = "document.querySelectorAll('#charts path').length"
    assert page.evaluate(count) == 3
    assert page.texts("#charts button") == ["task 1", "mean", "training", "validation"]
    page.evaluate("document.querySelector('#charts button[value=training]').focus()")
    page.press("Enter")
    assert page.evaluate(count) == 1
    assert page.texts("#charts button[aria-pressed=false]") == ["training"]
    page.evaluate("document.querySelector('#charts button[value=validation]').click()")
    assert page.evaluate(count) == 0
    assert page.texts("#charts output") == ["No curve is chosen."]


def test_of_many_curves_those_that_are_shown_first_can_be_more(page, tmp_path):
    names = [f"task {task}" for task in range(1, 21)]
    curves = [Curve("", name, "training", [(1, 0.5), (2, 1e-5)]) for name in [*names, "mean"]]
    chart = Chart("loss", curves, [*names, "mean"], ["mean"])
    made = make_page(RESULTS, "", NO_GROUPS, [], [chart], [], {}, [])
    (tmp_path / "many.html").write_text(made, encoding="utf-8")
    page.show((tmp_path / "many.html").as_uri())
    page.wait_for(DRAWN)
    count, every = "document.querySelectorAll('#charts path').length", "#charts button[value='']"
    assert page.evaluate(count) == 1 and page.complaints() == []
    for number in (21, 1):
        page.evaluate(f'document.querySelector("{every}").click()')
        assert page.evaluate(count) == number
    page.evaluate("document.querySelector('#charts svg').focus()")
    page.press("ArrowRight")
    assert page.texts("#charts output") == ["update 2 · mean: 1e-5"]


# How it looks


def test_dark_mode_has_light_words_on_dark_ground(page):
    def lightness(property_):
        colour = page.evaluate(f"getComputedStyle(document.body).{property_}")
        return sum(map(int, re.findall(r"\d+", colour)))

    assert lightness("backgroundColor") == 3 * 255 and lightness("color") < 150
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    page.call("Emulation.setEmulatedMedia", features=[scheme])
    assert lightness("backgroundColor") < 100 and lightness("color") > 600
    image = "getComputedStyle(document.querySelector('#figures img')).backgroundColor"
    assert page.evaluate(image) == "rgb(255, 255, 255)"  # figures are on a plain ground
    page.call("Emulation.setEmulatedMedia", features=[])


def test_examples_by_keyboard_and_buttons(page):
    page.evaluate("document.getElementById('choice').focus()")
    page.press("ArrowDown")
    assert page.texts("#question, #note") == ["what comes?", "1 cells are right"]
    assert page.texts("#which") == ["Step 1 of 4"]
    assert page.texts("#drawing text") == ["1"] and page.texts("#answers li, #lines li") == []
    page.press("Tab", "Tab", "Tab", "End")
    assert page.texts("#drawing text") == ["4"] and page.texts("#which") == ["Step 4 of 4"]
    for button, question in (("before", "where is mary?"), ("after", "what comes?")):
        page.evaluate(f"document.getElementById('{button}').focus()")
        page.press("Enter")
        assert page.texts("#question") == [question]


def test_play_goes_to_the_end(page):
    page.evaluate("document.getElementById('play').focus()")
    page.press("Enter")
    assert page.texts("#play") == ["Pause"]
    page.wait_for("document.getElementById('play').textContent === 'Play'")
    assert page.texts("#which") == ["Step 2 of 2"]


def test_a_phone_shows_all_of_every_figure_chart_and_table(page):
    page.resize(375, 740, mobile=True)
    inner = "#figures img, #charts svg, #charts button, table, td, th"
    rights = f"[...document.querySelectorAll('{inner}')].map(e => e.getBoundingClientRect().right)"
    assert max(page.evaluate(rights)) <= 375
    hidden = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{hidden}.length") == 0
    page.evaluate("document.querySelector('#figures input').focus()")
    page.press(" ")
    assert page.evaluate("document.images[0].width") == 1200  # enlarged


def test_it_fits_a_phone_and_prints(page):
    page.resize(360, 740, mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.evaluate("document.getElementById('after').click()")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    tops = "new Set(['before', 'choice', 'after'].map(id => document.getElementById(id).offsetTop))"
    assert page.evaluate(f"{tops}.size") == 1  # in a row
    small = "[...document.querySelectorAll('button')].filter(b => b.offsetHeight < 40).length"
    assert page.evaluate(small) == 0
    assert page.texts("#shown") == []
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.texts(".controls button, nav a") == []
    assert page.texts("#shown") == ["a board, step 1 of 4"]
    page.call("Emulation.setEmulatedMedia", media="")
    assert page.pdf().startswith(b"%PDF")
    assert Image.open(io.BytesIO(page.screenshot())).width == 360


def test_text_is_escaped():
    results = RESULTS | {"config": "<b>&", "notes": "<i>"}
    table = Table(("<a>", "1"), [("<tr>", "<td>")], ["<p>"])
    example = Example("a title", [Step(answers=[("</script>", 0.5)])])
    chart = Chart("</script>", [Curve("", "<u>", "training", [(1, 0.5)])], ["<u>"], ["<u>"])
    page = make_page(results, table, NO_GROUPS, [example], [chart], [], {"x.<y>": "<z>"}, [])
    assert "&lt;b&gt;&amp;" in page and "\\u003c/script>" in page
    for tag in ("<b>", "<i>", "<a>", "<y>", "<z>", "<u>"):
        assert tag not in page
    assert page.count("<script>") == page.count("</script>") == 4
