"""Examples as the page's script reads them."""

import json

import numpy as np

from rrn.pages import Example, Step
from rrn.pages.rendering import as_json

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
