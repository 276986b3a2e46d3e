"""From templates and examples to pages."""

import json

import numpy as np

from rrn.pages import Example, Step, Table
from rrn.pages.rendering import as_json
from rrn.training.page import make_page

EXAMPLE = Example(
    "a title",
    [Step(answers=[("</script>", np.float32(0.12345))], strengths=np.array([2.0, 0.00001]))],
    drawing=[("circle", {"r": np.int64(3), "fill": "red"}, "")],
)


def test_examples_are_written_with_few_digits():
    (example,) = json.loads(as_json([EXAMPLE]))
    (step,) = example["steps"]
    assert step["answers"] == [["</script>", 0.123]] and step["strengths"] == [2, 0]
    assert example["drawing"] == [["circle", {"r": 3, "fill": "red"}, ""]]
    assert as_json([Example("", [])]).count(" ") == 0


def test_text_is_escaped():
    results = {"config": "<b>&", "split": "test", "data": "d", "examples": 1, "notes": "<i>"}
    table = Table(("<a>", "1"), [("<tr>", "<td>")], ["<p>"])
    page = make_page(results, table, [EXAMPLE], [], {"x.<y>": "<z>"}, [])
    assert "&lt;b&gt;&amp;" in page and "\\u003c/script>" in page
    for tag in ("<b>", "<i>", "<a>", "<y>", "<z>"):
        assert tag not in page
    assert page.count("<script>") == page.count("</script>") == 2
