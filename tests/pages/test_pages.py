"""A table as text; examples as the page's script reads them."""

import json

import numpy as np

from rrn.pages import Example, Step, Table, as_json


def test_a_tables_text_has_names_on_the_left_and_cells_on_the_right():
    table = Table(("error, %", "step 1", "paper"), [("mean", "10.50", ""), ("most", "9", "0.1")])
    assert str(table).split("\n") == [
        "error, %  step 1  paper",
        "mean       10.50",
        "most           9    0.1",
    ]


EXAMPLE = Example(
    "a title",
    [Step(answers=[("</script>", np.float32(0.12345))], strengths=np.array([2.0, 0.00001]))],
    drawing=[("circle", {"r": np.int64(3), "fill": "red"}, "")],
)


def test_examples_are_written_with_few_digits():
    text = as_json([EXAMPLE])
    (example,) = json.loads(text)
    (step,) = example["steps"]
    assert "<" not in text
    assert step["answers"] == [["</script>", 0.123]] and step["strengths"] == [2, 0]
    assert example["drawing"] == [["circle", {"r": 3, "fill": "red"}, ""]]
