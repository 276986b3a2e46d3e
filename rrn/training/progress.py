"""What a run says while it trains: the progress line, metrics.jsonl, TensorBoard.

Here is also how it is stopped.
"""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.distribute.devices import format_memory, peak_memory
from rrn.tasks.report import Results
from rrn.training.curves import MEMORY
from rrn.training.workdir import Workdir


class Output:
    """Standard output that may lose its reader, as with `| head`: the program goes on without.

    Attributes:
      lost: whether nobody reads any more.
    """

    def __init__(self, stream: Any):
        self._stream, self.lost = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes as the stream does, or nowhere."""
        self._attempt(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Flushes as the stream does."""
        self._attempt(self._stream.flush)

    def _attempt(self, call, *arguments):
        try:
            call(*arguments)
        except OSError:  # what is left in its buffer goes nowhere, too
            self.lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


class StopRequest:
    """Within it SIGINT, SIGTERM and SIGHUP set `signal` instead of ending the process.

    A SIGHUP that is ignored stays so: that is what `nohup` is for. A lost `Output` asks to stop,
    too. In a thread, which gets no signals, nothing else does.

    Attributes:
      signal: the number of the last signal that has come; None if none has.
    """

    def __init__(self):
        self.signal: int | None = None

    def _request(self, number: int, _: Any) -> None:
        self.signal = number

    def __enter__(self) -> "StopRequest":
        self._handlers = {}
        if threading.current_thread() is threading.main_thread():
            signals = [signal.SIGINT, signal.SIGTERM]
            if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                signals.append(signal.SIGHUP)
            self._handlers = {s: signal.signal(s, self._request) for s in signals}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """Whether a signal has come, or nobody reads what is printed."""
        if self.signal is None and getattr(sys.stdout, "lost", False):
            self.signal = signal.SIGHUP
        return self.signal is not None

    @property
    def status(self) -> int:
        """The exit status: 128 and the signal's number, and 0 for Ctrl-C, who is there."""
        return 128 + self.signal if self.signal not in (None, signal.SIGINT) else 0


def report_compilation(what: str, seconds: float) -> None:
    """Prints how long the first run of a compiled function took, nearly all of it to compile."""
    print(f"{what}: compiled and run once in {seconds:.1f} seconds", flush=True)


class Progress:
    """Reports the means that training yields, and validation results.

    Everywhere, `update` is the number of updates so far.

    Args:
      workdir: the run's folder, in which metrics.jsonl and TensorBoard's events are written.
      num_updates: the number of updates of the whole run.
      batch_size: the number of examples of an update.
      devices: this process's, whose memory is reported.
      seconds: how long the run has trained before.
    """

    def __init__(
        self,
        workdir: Workdir,
        num_updates: int,
        batch_size: float,
        devices: Sequence[str],
        seconds: float,
    ):
        self.workdir, self.num_updates, self.batch_size = workdir, num_updates, batch_size
        self.devices = devices
        self._writer = tf.summary.create_file_writer(str(workdir / "events"))
        self._reported_update, self._reported_at = 0, time.monotonic()
        self._started = self._reported_at - seconds

    def start(self, update: int) -> None:
        """Begins to measure the rate: the time before now was spent otherwise."""
        self._reported_update, self._reported_at = update, time.monotonic()

    def training(self, update: int, means: Mapping[str, Any], stage: str | None = None) -> None:
        """Reports training since the last report.

        Args:
          means: name -> mean since the last report, a scalar or a vector; NaN of what has not
            occurred, which is not shown.
          stage: the stage's name, None where the run has one alone.
        """
        now = time.monotonic()
        rate = (update - self._reported_update) * self.batch_size / (now - self._reported_at)
        self.start(update)
        metrics = {name: np.asarray(value).tolist() for name, value in means.items()}
        named = {"stage": stage} if stage else {}
        peaks = peak_memory(self.devices)
        memory = {f"{MEMORY}{name}": size for name, size in peaks.items()}
        self._write(update, {**named, "examples_per_second": rate, **memory, **metrics}, "train")
        left = (self.num_updates - update) * self.batch_size / rate
        parts = [f"update {update}/{self.num_updates}", *named.values()]
        parts += [f"{name} {metrics[name]:.4f}" for name in _shown(metrics)]
        parts += [f"{rate:,.0f} examples/s", format_memory(peaks), f"{_clock(left)} left"]
        print("  ".join(parts), flush=True)

    def compilation(self, stage: str) -> None:
        """Reports the first update of a stage, in whose time XLA has compiled it."""
        report_compilation(f"stage {stage}", time.monotonic() - self._reported_at)

    def validation(self, update: int, loss: float, results: Results) -> None:
        """Reports a validation; its loss is the mean over the examples and all steps."""
        line = {
            "split": "valid",
            "mean_loss": loss,
            "validation_error": results.error,
            **results.metrics,
        }
        self._write(update, line, "valid")
        numbers = "  ".join(
            f"{name} {value:.4g}"
            for name, value in results.metrics.items()
            if "/" not in name or name.endswith(("/mean", "/all"))
        )
        print(f"update {update}  validation: mean_loss {loss:.4f}  {numbers}", flush=True)

    def shares(
        self, update: int, shares: Mapping[int, float] | None, group_name: Callable[[int], str]
    ) -> None:
        """Reports how much of the next batches each group gets.

        Args:
          shares: group -> share; None where the stage draws in the task's own way.
          group_name: from a group to its name in words.
        """
        if not shares:
            return
        named = {f"share/{group:02d}": share for group, share in shares.items()}
        self._write(update, {"split": "valid", **named}, "valid")
        most = sorted(shares.items(), key=lambda pair: -pair[1])[:5]
        parts = "; ".join(f"{group_name(group)}: {100 * share:.0f} %" for group, share in most)
        print(f"update {update}  the largest shares of the next batches: {parts}")

    def _write(self, update, values, group):
        seconds = round(time.monotonic() - self._started, 1)
        self.workdir.append("metrics.jsonl", {"update": update, "seconds": seconds, **values})
        with self._writer.as_default(step=update):
            for name, value in values.items():
                for suffix, scalar in _scalars(value):
                    tf.summary.scalar(f"{group}/{name}{suffix}", scalar)
        self._writer.flush()


def _shown(metrics):
    """Names of the losses, then of the task's other scalars."""
    scalars = [
        name
        for name, value in metrics.items()
        if not isinstance(value, list) and not math.isnan(value)
    ]
    others = [n for n in scalars if not n.endswith(("loss", "gradient_norm", "learning_rate"))]
    return [name for name in scalars if name.endswith("loss")] + others


def _scalars(value):
    """[(suffix, number)] of a number, or of a list's elements, numbered from 1."""
    if isinstance(value, list):
        return [(f"/{i:02d}", element) for i, element in enumerate(value, 1)]
    return [] if isinstance(value, str) else [("", value)]


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
