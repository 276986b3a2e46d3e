"""The parameter-server study: the kernel's byte counts, the step-time model, the report."""

import heapq
import sys

import pytest

from benchmarks.parameter_servers import describe_model, main, report
from benchmarks.parameter_servers_model import (
    WORKERS,
    asynchronous_rate,
    saturation,
    synchronous_rate,
    table,
)


def test_a_models_variables_are_measured(small_digits_h5):
    model = describe_model("mnist_cnn", {"data.path": small_digits_h5})
    assert sum(size for *_, size in model["variables"]) == 4 * 3_274_634


# The model


def simulated_rate(workers, compute_seconds, loads, bandwidth, updates=3000):
    """Batches a second of workers that write to and read from one server after the other.

    Each server's card carries one transfer at a time each way, first come, first served.
    """
    free = [[0.0] * len(loads) for _ in range(2)]
    seconds = [load / bandwidth for load in loads]
    plan = [("compute", compute_seconds)]
    plan += [((way, k), seconds[k]) for way in range(2) for k in range(len(loads))]
    queue = [(0.0, worker, 0) for worker in range(workers)]
    done = 0
    while done < updates:
        now, worker, part = heapq.heappop(queue)
        where, takes = plan[part]
        if where != "compute":
            way, server = where
            now = free[way][server] = max(now, free[way][server]) + takes
        else:
            now += takes
        part = (part + 1) % len(plan)
        done += part == 0
        heapq.heappush(queue, (now, worker, part))
    return done / now


@pytest.mark.parametrize("loads", [[30e6, 10e6], [20e6, 20e6], [5e6, 1e6, 10e6]])
def test_asynchronous_rates_are_those_of_a_simulation(loads):
    arguments = 0.05, loads, 1e9
    full = saturation(*arguments)
    for workers in (1, 2, 4, round(full), round(4 * full)):
        bound, found = (f(workers, *arguments) for f in (asynchronous_rate, simulated_rate))
        assert 0.7 * bound < found <= 1.01 * bound  # near saturation workers wait by chance
        if workers == 1 or workers > 2 * full:
            assert found == pytest.approx(bound, rel=0.01)


def test_rates_by_hand():
    """4 and 2 bytes at 2 bytes a second; a worker alone takes 1 + 2 (4 + 2) / 2 = 7 seconds."""
    arguments = 1.0, [4, 2], 2
    assert saturation(*arguments) == 3.5  # the first server takes 4 / 2 = 2 seconds an update
    rates = [asynchronous_rate(w, *arguments) for w in (1, 3, 4, 256)]
    assert rates == pytest.approx([1 / 7, 3 / 7, 1 / 2, 1 / 2])
    # One worker's own card needs 3 seconds each way; for three the first server's needs 6.
    rates = [synchronous_rate(w, *arguments) for w in (1, 3)]
    assert rates == pytest.approx([1 / 7, 3 / 13])


@pytest.fixture
def study():
    """A study of one model with two variables, 3,000,000 and 1,000,000 bytes."""

    def run(rate, *servers):
        curve = [{"update": u, "seconds": u / rate, "loss": 1 / u, "accuracy": 0.5} for u in (1, 2)]
        servers = [dict(zip(("computed", "sent", "received"), s, strict=True)) for s in servers]
        rates = {"updates_per_second": rate, "test_accuracy": 98.765}
        return {**rates, "curve": curve, "servers": servers}

    model = {
        "batch_size": 8,
        "settings": {},
        "notes": "not MNIST",
        "variables": [["w", [3000, 250], 3_000_000], ["v", [250_000], 1_000_000]],
        "compute_seconds": 0.5,
        "runs": {
            "round_robin": run(4.0, (3e6, 3.3e6, 3.03e6), (1e6, 1e6, 1e6)),
            "balanced": run(5.0, (2e6, 2e6, 2e6), (2e6, 2e6, 2e6)),
        },
    }
    return {
        "hardware": "a machine",
        "workers": 3,
        "ps": 2,
        "sync": False,
        "policies": ["round_robin", "balanced"],
        "models": {"tiny": model},
    }


def test_the_models_table(study):
    lines = table(study, gbit=0.08, numbers_of_servers=[2]).splitlines()  # 10 MB a second
    columns, _, *rows = [line.strip("| ").split(" | ") for line in lines]
    assert columns[4:] == ["full at", *map(str, WORKERS)]
    # A worker alone takes 0.5 + 2 * 0.4 seconds; a server's 3 or 2 MB take 0.3 or 0.2.
    first = ["tiny", "2", "round_robin", "1.50", "4.3", "0.8", "1.5", "3.1"]
    assert rows[0] == [*first, *["3.3"] * 6]
    first = ["tiny", "2", "balanced", "1.00", "6.5", "0.8", "1.5", "3.1"]
    assert rows[1] == [*first, *["5.0"] * 6]


def test_the_report(study):
    rows = [line.strip("| ").split(" | ") for line in report(study).splitlines()]
    assert rows[0] == ["a machine; 3 workers, 2 servers, asynchronous updates."]
    # (3.3 + 3.03) / ((3.3 + 3.03 + 1 + 1) / 2) = 1.52
    sent, received = "3.30 (+10.0%)", "3.03 (+1.0%)"
    end = "2 updates, 0 s: loss 0.500, accuracy 0.500; test 98.77 %"
    assert rows[4] == ["tiny", "round_robin", end, "4.00", "0", "3.00", sent, received, "1.52"]
    assert rows[7][-4:] == ["1", "2.00", "2.00 (+0.0%)", "2.00 (+0.0%)"]
    last = (
        "tiny: 1,000,000 parameters, batch 8 a worker; one process alone 2.00 updates/s. not MNIST"
    )
    assert rows[-1] == [last]


@pytest.mark.parametrize(
    ("field", "message"),
    [("data.path=nowhere.h5", "nowhere.h5: no such file"), ("train.batches=3", "'?batches'?")],
)
def test_what_does_not_fit_is_said_before_anything_is_written(
    tmp_path, monkeypatch, field, message
):
    out = tmp_path / "study"
    monkeypatch.setattr(sys, "argv", ["parameter_servers", "--set", field, "--out", str(out)])
    with pytest.raises(SystemExit, match=message):
        main()
    assert not out.exists()
