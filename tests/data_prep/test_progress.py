"""What is shown of long computations."""

from rrn.data_prep.progress import Progress


def test_progress_shows_rate_and_time_left(monkeypatch, capsys):
    clock = iter([0.0, 5.0, 20.0, 21.0, 25.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    progress = Progress("solving", 1000)
    for done in (50, 200, 210, 1000):  # too early; 10 a second: 800 left take 80 s; too early; last
        progress.show(done)
    assert [line.strip() for line in capsys.readouterr().err.splitlines()] == [
        "solving: 200 of 1,000, 10/s, 80 s left",
        "solving: 1,000 of 1,000, 40/s, 0 s left",
    ]


def test_progress_towards_an_unknown_total(monkeypatch, capsys):
    clock = iter([0.0, 20.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    Progress("kB downloaded", None).show(200)
    assert capsys.readouterr().err.strip() == "kB downloaded: 200, 10/s"
