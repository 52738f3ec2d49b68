"""A headless Chromium, driven over a pair of pipes by the DevTools protocol: it ends when whoever drives it does.

https://chromedevtools.github.io/devtools-protocol/: JSON, each message ended by a zero byte.
"""

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from coterie_wire.structs import from_json

T = TypeVar("T")
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
QUIET = (
    "--headless=new",
    "--disable-gpu",
    "--disable-background-networking",  # else it looks up its maker's hosts at every start
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--password-store=basic",
    "--remote-debugging-pipe",
)
LAUNCH = """\
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(reads, 3), os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Gives the browser its pipes under the numbers that it wants."""
ANSWER_S = 30.0
STOP_S = 10.0
LOOK_S = 0.1
MESSAGE_END = b"\0"


class BrowserFailed(Exception):
    """The browser did not start, did not do what it was told, or is gone; the message says which."""


class _Error(msgspec.Struct, frozen=True):
    message: str


class _Answer(msgspec.Struct, frozen=True):
    id: int | None = None
    """None: an event."""
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: _Error | None = None


class _Target(msgspec.Struct, frozen=True, rename="camel"):
    target_id: str


class _Session(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str


class _Value(msgspec.Struct, frozen=True):
    value: object = None


class _Evaluated(msgspec.Struct, frozen=True, rename="camel"):
    result: _Value
    exception_details: msgspec.Raw = msgspec.Raw(b"")


class _Node(msgspec.Struct, frozen=True, rename="camel"):
    node_id: int


class _Document(msgspec.Struct, frozen=True):
    root: _Node


def find_chromium() -> str | None:
    """Path of a browser of that family; None where none is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Chromium:
    """One browser with one tab and a profile of its own. Not for several threads at once.

    Every method but `close` raises BrowserFailed.
    """

    def __init__(self, program: str, *, profile: Path) -> None:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        unconfined = ("--no-sandbox",) if os.geteuid() == 0 else ()  # it refuses to confine pages for root
        options: Sequence[str] = (*QUIET, *unconfined, f"--user-data-dir={profile}", "about:blank")
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), program, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,  # Ctrl-C reaches the demo, which closes it
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._received = bytearray()
        self._last = 0
        self._session: str | None = None
        try:
            target = self._ask("Target.createTarget", _Target, url="about:blank").target_id
            attached = self._ask("Target.attachToTarget", _Session, targetId=target, flatten=True)
            self._session = attached.session_id
            self._send("Page.enable")
        except BrowserFailed:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def before_each_page(self, script: str) -> None:
        """Run `script` in every page from now on, before the page's own."""
        self._send("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url: str) -> None:
        """Go there; does not wait for what the page then does."""
        self._send("Page.navigate", url=url)

    def evaluate(self, expression: str) -> object:
        """What a JavaScript expression gives on the page, as JSON."""
        found = self._ask("Runtime.evaluate", _Evaluated, expression=expression, returnByValue=True)
        if bytes(found.exception_details):
            raise BrowserFailed(f"the page failed: {bytes(found.exception_details).decode()[:400]}")
        return found.result.value

    def wait_for(self, expression: str, *, within_s: float) -> None:
        """Until the expression is true."""
        until = time.monotonic() + within_s
        while not self.evaluate(expression):
            if time.monotonic() >= until:
                shown = str(self.evaluate("document.body.innerText"))
                raise BrowserFailed(f"not within {within_s:.0f} s: {expression}; the page says: {shown[:400]}")
            time.sleep(LOOK_S)

    def choose_file(self, selector: str, path: Path) -> None:
        """As if somebody had picked the file in the input that the CSS selector finds."""
        root = self._ask("DOM.getDocument", _Document).root.node_id
        node = self._ask("DOM.querySelector", _Node, nodeId=root, selector=selector).node_id
        self._send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def close(self) -> None:
        """End the browser and wait until it has; again, it does nothing."""
        if self._process.returncode is None:
            self._session = None
            try:
                self._send("Browser.close")
            except BrowserFailed:
                self._process.terminate()
            try:
                self._process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            os.close(self._to)
            os.close(self._from)

    def _send(self, method: str, **given: object) -> None:
        self._ask(method, msgspec.Raw, **given)

    def _ask(self, method: str, kind: type[T], **given: object) -> T:
        self._last += 1
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": self._last, "method": method, "params": given, **session}
        try:
            os.write(self._to, msgspec.json.encode(message) + MESSAGE_END)
        except OSError as error:
            raise BrowserFailed(f"the browser has ended: {error}") from error
        until = time.monotonic() + ANSWER_S
        while (answer := self._next(until)).id != self._last:
            pass
        if answer.error is not None:
            raise BrowserFailed(f"{method}: {answer.error.message}")
        return from_json(answer.result, kind)

    def _next(self, until: float) -> _Answer:
        while MESSAGE_END not in self._received:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise BrowserFailed(f"the browser did not answer for {ANSWER_S:.0f} s")
            part = os.read(self._from, 1 << 16)
            if not part:
                raise BrowserFailed("the browser has ended")
            self._received += part
        message, _, rest = bytes(self._received).partition(MESSAGE_END)
        self._received = bytearray(rest)
        return from_json(message, _Answer)
