"""What a run prints and writes while it trains, and how it is stopped."""

import datetime
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

from rrn.distribute.cluster import STOPPING
from rrn.distribute.devices import format_memory, peak_memory
from rrn.tasks.report import Results
from rrn.training.curves import MEMORY
from rrn.training.workdir import Workdir

MEANS = "/mean", "/all"  # the only ones of metrics by group that are printed


class Output:
    """Standard output or error; where nobody reads it any more, as with `| head`, it is `lost`."""

    def __init__(self, stream: Any):
        self._stream, self.lost = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._attempt(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def _attempt(self, call, *arguments):
        try:
            call(*arguments)
        except OSError:  # what is left in its buffer is discarded, too
            self.lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


class StopRequest:
    """Within it SIGINT, SIGTERM and SIGHUP set `signal` instead of ending the process.

    `nohup` ignores SIGHUP, and so it stays. A lost `Output` asks to stop, too.
    """

    signal: int | None = None  # the last one that has come

    def _request(self, number: int, _: Any) -> None:
        self.signal = number

    def __enter__(self) -> "StopRequest":
        self._handlers = {}
        if threading.current_thread() is threading.main_thread():  # others get no signals
            for number in STOPPING:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._request)
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
        """The exit status: 0 after Ctrl-C, otherwise 128 and the signal's number."""
        return 128 + self.signal if self.signal not in (None, signal.SIGINT) else 0


def report_compilation(what: str, seconds: float) -> None:
    """Prints how long the first run of a compiled function took, nearly all of it to compile."""
    print(f"{what}: compiled and run once in {seconds:.1f} seconds", flush=True)


class Progress:
    """Prints means of training and validation results, and writes them for files and TensorBoard.

    Everywhere, `update` is the number of updates so far.

    Args:
      num_updates: those of the whole run.
      batch_size: the number of examples of an update.
      devices: those whose memory is reported.
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
        """Begins to measure the rate."""
        self._reported_update, self._reported_at = update, time.monotonic()

    def training(self, update: int, means: Mapping[str, Any], stage: str | None = None) -> None:
        """Reports training since the last report.

        Args:
          means: name -> mean since then, a scalar or a vector; NaN of what has not occurred.
          stage: the stage's name, None where the run has only one.
        """
        now = time.monotonic()
        rate = (update - self._reported_update) * self.batch_size / (now - self._reported_at)
        self.start(update)
        metrics = {name: np.asarray(value).tolist() for name, value in means.items()}
        named = {"stage": stage} if stage else {}
        peaks = peak_memory(self.devices)
        memory = {f"{MEMORY}{name}": size for name, size in peaks.items()}
        self._write(update, {**named, "examples_per_second": rate, **memory, **metrics}, "train")
        left = datetime.timedelta(seconds=int((self.num_updates - update) * self.batch_size / rate))
        parts = [f"update {update}/{self.num_updates}", *named.values()]
        parts += [f"{name} {metrics[name]:.4f}" for name in _shown(metrics)]
        parts += [f"{rate:,.0f} examples/s", format_memory(peaks), f"{left} left"]
        print("  ".join(parts), flush=True)

    def compilation(self, stage: str) -> None:
        """Reports the first update of a stage, in whose time XLA has compiled it."""
        report_compilation(f"stage {stage}", time.monotonic() - self._reported_at)

    def validation(self, update: int, loss: float, results: Results) -> None:
        """Reports a validation; its loss is the mean over the examples and all steps."""
        scores = {"mean_loss": loss, "validation_error": results.error}
        self._write(update, {"split": "valid", **scores, **results.metrics}, "valid")
        means = {n: v for n, v in results.metrics.items() if "/" not in n or n.endswith(MEANS)}
        numbers = "  ".join(f"{name} {value:.4g}" for name, value in means.items())
        print(f"update {update}  validation: mean_loss {loss:.4f}  {numbers}", flush=True)

    def shares(
        self, update: int, shares: Mapping[int, float], group_name: Callable[[int], str]
    ) -> None:
        """Reports which share of the next batches each group gets, by the groups' numbers."""
        named = {f"share/{group:02d}": share for group, share in shares.items()}
        self._write(update, {"split": "valid", **named}, "valid")
        most = sorted(shares, key=lambda group: -shares[group])[:5]
        parts = "; ".join(f"{group_name(g)}: {100 * shares[g]:.0f} %" for g in most if shares[g])
        print(f"update {update}  the largest shares of the next batches: {parts}")

    def _write(self, update, values, group):
        seconds = round(time.monotonic() - self._started, 1)
        self.workdir.append("metrics.jsonl", {"update": update, "seconds": seconds, **values})
        with self._writer.as_default(step=update):
            for name, value in values.items():
                if isinstance(value, list):
                    for i, element in enumerate(value, 1):
                        tf.summary.scalar(f"{group}/{name}/{i:02d}", element)
                elif not isinstance(value, str):
                    tf.summary.scalar(f"{group}/{name}", value)
        self._writer.flush()


def _shown(metrics):
    """Names of the losses, then of the task's other scalars."""
    known = [n for n, v in metrics.items() if not isinstance(v, list) and not math.isnan(v)]
    others = [n for n in known if not n.endswith(("loss", "gradient_norm", "learning_rate"))]
    return [name for name in known if name.endswith("loss")] + others
