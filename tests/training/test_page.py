"""The page of a run, in a browser: what it shows, and how its examples are stepped through."""

import io

import pytest
from matplotlib.figure import Figure
from PIL import Image

from rrn.pages import Example, Step, Table
from rrn.training.page import make_page
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
    "data": "data/babi.h5",
    "split": "test",
    "examples": 20_000,
    "notes": "Task 3: simulated stories",
    "made": {
        "date": "2026-11-26T20:49:00+00:00",
        "update": 20_000,
        "training_seconds": 7_108.2,
        "examples_per_second": 2_880.3,
        "peak_memory": {"GPU:0": 5 * 2**29, "GPU:1": 2**31},
        "ended_early": {"train": 25_000},
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
    examples = [STORY, BOARD]
    figures = [folder / "error_by_task.png"]
    page = make_page(RESULTS, table, examples, figures, config, VARIABLES)
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


def test_results_figures_config_and_variables_are_shown(page):
    assert page.texts("h1") == ["configs/babi.py:quick"]
    assert page.texts("header p") == [
        "test split of data/babi.h5, 20,000 examples",
        "Training data: Task 3: simulated stories",
        "TensorFlow sees no GPU: --devices=0,1 ran as 2 logical CPU devices.",
        "Evaluated at 2026-11-26 20:49:00 UTC, weights of update 20,000. "
        "Training took 118.5 minutes, at 2,880 examples/s, and at most "
        "GPU:0 2.50 GiB, GPU:1 2.00 GiB of memory. "
        "Stage train ended early, at update 25,000. "
        "Evaluated on /device:CPU:0, /device:CPU:1 of 2 cores of AMD EPYC, with AVX2. "
        "rrn 0.1.0 at commit 55749d4, TensorFlow 2.21.0, Python 3.11.7.",
    ]
    assert page.texts("#results th, #results td, #results p") == [
        *("error, %", "step 1", "paper"),
        *("mean error", "12.5", "0.46"),
        "a note",
    ]
    assert page.texts("figcaption") == ["error by task"]
    assert page.evaluate("document.images[0].naturalWidth") == 1200
    tables = page.evaluate("[...document.querySelectorAll('table')].slice(1).map(t => t.innerText)")
    assert "train.l2\t1e-05" in tables[0] and "readout/w\t128x177\t90,624\tCPU:0" in tables[1]


def test_nothing_is_loaded_and_nobody_complains(page, path):
    assert page.requests() == [path.as_uri()]
    assert page.complaints() == []


def test_steps_by_keyboard(page):
    page.evaluate("document.getElementById('play').focus()")
    assert page.texts("#which") == ["Step 1 of 2"]
    assert page.texts("#question") == ["where is mary?"]
    assert page.texts("#lines li.strongest") == ["mary went to the office4.0"]
    assert page.texts("#answers li") == ["office75.0 %", "garden25.0 %"]
    assert page.texts("#by-step li.now") == ["step 1: garden25.0 %"]
    page.press("Tab", "ArrowRight")
    assert page.texts("#which") == ["Step 2 of 2"]
    assert page.texts("#lines li.strongest") == ["mary went to the garden3.0"]
    assert page.texts("#answers li.right") == ["garden87.5 %"]
    assert page.texts("#by-step li") == ["step 1: garden25.0 %", "step 2: garden87.5 %"]
    assert page.texts("#by-step li.now") == ["step 2: garden87.5 %"]
    share = "parseFloat(getComputedStyle({}, '::before').width) / {}.offsetWidth"
    bar = "document.querySelectorAll('#lines li')[0]"
    assert page.evaluate(share.format(bar, bar)) == pytest.approx(1 / 3, abs=0.01)


def test_examples_by_keyboard_and_buttons(page):
    page.evaluate("document.getElementById('choice').focus()")
    page.press("ArrowDown")
    assert page.texts("#question, #note") == ["what comes?", "1 cells are right"]
    assert page.texts("#which") == ["Step 1 of 4"]
    assert page.texts("#drawing text") == ["1"] and page.texts("#answers li, #lines li") == []
    page.press("Tab", "Tab", "Tab", "End")
    assert page.texts("#drawing text") == ["4"] and page.texts("#which") == ["Step 4 of 4"]
    for button, question in (("after", "where is mary?"), ("before", "what comes?")):
        page.evaluate(f"document.getElementById('{button}').focus()")
        page.press("Enter")
        assert page.texts("#question") == [question]


def test_play_goes_to_the_end(page):
    page.evaluate("document.getElementById('play').focus()")
    page.press("Enter")
    assert page.texts("#play") == ["Pause"]
    page.wait_for("document.getElementById('play').textContent === 'Play'")
    assert page.texts("#which") == ["Step 2 of 2"]


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
    page = make_page(results, table, [example], [], {"x.<y>": "<z>"}, [])
    assert "&lt;b&gt;&amp;" in page and "\\u003c/script>" in page
    for tag in ("<b>", "<i>", "<a>", "<y>", "<z>"):
        assert tag not in page
    assert page.count("<script>") == page.count("</script>") == 2
