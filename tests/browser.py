"""A headless Chromium for tests, driven through a pipe by its DevTools protocol."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time

import pytest

PROGRAMS = "chromium", "chromium-browser", "google-chrome"
SECONDS = 60  # that an answer may take
# Chromium reads commands from file 3 and writes answers to file 4.
COMMAND = 'exec "$0" --remote-debugging-pipe "$@" 3<&{} 4>&{} >&2 2>/dev/null'
FLAGS = "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"


@contextlib.contextmanager
def open_page(url, folder):
    """Yields a `Page` that shows a URL; skips the test where there is no browser.

    folder: where Chromium keeps its files.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    commands, answers = os.pipe(), os.pipe()
    command = ["bash", "-c", COMMAND.format(commands[0], answers[1]), program, *FLAGS]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={folder}", "about:blank"],
        pass_fds=(commands[0], answers[1]),
        start_new_session=True,
    )
    os.close(commands[0])
    os.close(answers[1])
    try:
        page = Page(answers[0], commands[1])
        page.open(url)
        yield page
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the browser and the processes that it started
        process.wait(SECONDS)
        os.close(answers[0])
        os.close(commands[1])


class Page:
    """A page in the browser."""

    def __init__(self, answers, commands):
        self._answers, self._commands = answers, commands
        self._session, self._number, self._rest, self.events = {}, 0, b"", []

    def open(self, url):
        """Makes a tab that shows a URL."""
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(1000, 800)
        self.show(url)

    def show(self, url):
        """Goes to a URL, also to that of the page as it is, and forgets the events before."""
        self.evaluate("window.isOld = true")
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("!window.isOld && document.readyState === 'complete'")

    def call(self, method, **parameters):
        """The result of a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        until = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0, until - time.monotonic()))
            assert ready, f"the browser says nothing for {SECONDS} seconds"
            data = os.read(self._answers, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        answer, _, self._rest = self._rest.partition(b"\0")
        return json.loads(answer)

    def evaluate(self, script):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script):
        """Waits until an expression is true."""
        until = time.monotonic() + SECONDS
        while not self.evaluate(script):
            assert time.monotonic() < until, f"never true: {script}"
            time.sleep(0.05)

    def texts(self, selector):
        """The texts of the elements that are shown."""
        shown = "e => e.checkVisibility()"
        elements = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return self.evaluate(f"{elements}.filter({shown}).map(e => (e.value || e.textContent))")

    def press(self, *keys):
        """Presses and releases keys, named as in `KeyboardEvent.key`."""
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        codes |= {"Tab": 9, "Enter": 13, "End": 35, ".": 190}
        for key in keys:
            code = codes.get(key) or ord(key.upper())
            text = {"text": "\r" if key == "Enter" else key} if code == 13 or len(key) == 1 else {}
            named = {"key": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def resize(self, width, height, mobile=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def requests(self):
        """The URLs that were asked for, other than those that are their own content."""
        self.evaluate("0")  # whatever has happened until now is among the events then
        sent = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        urls = [parameters["request"]["url"] for parameters in sent]
        return [url for url in urls if not url.startswith("data:")]

    def complaints(self):
        """What the browser and the scripts have logged, and errors in scripts."""
        names = "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"
        self.evaluate("0")
        return [event["params"] for event in self.events if event["method"] in names]
