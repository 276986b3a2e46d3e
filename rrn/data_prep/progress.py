"""Shows how far a long computation is."""

import sys
import time


class Progress:
    """Shows on stderr how many of `total` parts are done, the rate, and the time left.

    A line comes at most every half second on a terminal, and every ten seconds in a log.
    """

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total = what, total
        self._start = self._shown = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    def show(self, done: int) -> None:
        """Shows the number of parts that are done, if it is time to."""
        now = time.monotonic()
        whole = self._total is not None and done >= self._total
        last = whole and self._shown > self._start  # the last line follows others
        if not last and now - self._shown < (0.5 if self._on_terminal else 10):
            return
        self._shown = now
        rate = done / (now - self._start)
        of, time_left = "", ""
        if self._total is not None:
            left = (self._total - done) / rate if rate else float("inf")
            of, time_left = f" of {self._total:,}", f", {left:.0f} s left"
        text = f"{self._what}: {done:,}{of}, {rate:,.0f}/s{time_left}    "
        end = "\r" if self._on_terminal and not whole else "\n"
        print(text, file=sys.stderr, end=end, flush=True)
