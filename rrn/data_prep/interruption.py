"""What Ctrl-C does to a command, from its first import on."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable

STATUS = 130  # the exit status


class Interruption:
    """Ends the process with a line, whatever it is doing.

    An exception would not do: libraries catch it, or show it with a traceback, while they are
    imported. What is half written is for the next command to drop.

    Attributes:
      hint: gives what follows the word "interrupted".
    """

    def __init__(self):
        self.hint: Callable[[], str] = lambda: ""

    def expect(self) -> None:
        """Takes Ctrl-C over, unless it is ignored, as it is in the background of a script."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._end)

    def leave(self) -> None:
        """Lets Ctrl-C raise KeyboardInterrupt again, where `expect` has taken it over."""
        if signal.getsignal(signal.SIGINT) == self._end:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _end(self, *_):
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os.write(2, f"error: interrupted{self.hint()}\n".encode(errors="backslashreplace"))
        os._exit(STATUS)


interruption = Interruption()
