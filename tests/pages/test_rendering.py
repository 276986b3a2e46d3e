"""From templates and examples to pages."""

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
    (example,) = json.loads(as_json([EXAMPLE]))
    (step,) = example["steps"]
    assert step["answers"] == [["</script>", 0.123]] and step["strengths"] == [2, 0]
    assert example["drawing"] == [["circle", {"r": 3, "fill": "red"}, ""]]
    assert as_json([Example("", [])]).count(" ") == 0
