"""The age task's results: accuracy by distance and step. No published figures could be found."""

from rrn.tasks.reports import accuracy_by_kind, draw_accuracy, format_accuracy


def results(arrays, examples, outputs):
    """`accuracy/distance_0` ... `accuracy/distance_7` and `accuracy/all` in percent, `loss`."""
    distance = arrays["distance"].numpy().reshape(-1)[examples]
    return accuracy_by_kind(outputs, distance, "distance")


def table(results):
    """Accuracy in words: a row for each step."""
    return format_accuracy(results, "distance")


def figures(results):
    """`accuracy`: by distance, a line for each step."""
    return {"accuracy": draw_accuracy(results, "distance")}
