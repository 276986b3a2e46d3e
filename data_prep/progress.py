"""Shows how far a long computation is."""

import sys
import time


class Progress:
    """Shows on stderr how much is done, how fast it goes, and the time left.

    Nothing is shown of what takes less than half a second on a terminal, ten seconds in a log.
    """

    def __init__(self, what: str, total: int):
        """`what` names the work, `total` is the number of its parts."""
        self._what, self._total = what, total
        self._start = self._shown = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    def show(self, done: int) -> None:
        """Says that `done` of the parts are done."""
        now = time.monotonic()
        last = done >= self._total and self._shown > self._start  # ends what was begun
        if not last and now - self._shown < (0.5 if self._on_terminal else 10):
            return
        self._shown = now
        rate = done / (now - self._start)
        left = (self._total - done) / rate if rate else float("inf")
        text = f"{self._what}: {done:,} of {self._total:,}, {rate:,.0f}/s, {left:.0f} s left    "
        end = "\r" if self._on_terminal and done < self._total else "\n"
        print(text, file=sys.stderr, end=end, flush=True)
