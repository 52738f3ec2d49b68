"""Firefox without a driver, over WebDriver BiDi, which it speaks itself: https://www.w3.org/TR/webdriver-bidi/."""

import json
import shutil
import subprocess
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect

from tests.system.eventually import eventually

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
STARTS_S, ANSWERS_S = 120, 120
# What it would ask its maker's hosts at each start.
PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


class Firefox:
    """A headless one with a new profile in `directory`, and one tab."""

    def __init__(self, directory: Path) -> None:
        self._profile = directory
        self._numbers = count(1)

    def __enter__(self) -> Self:
        assert FIREFOX, "install Firefox first, e.g. apt-get install firefox-esr"
        self._profile.mkdir()
        written = "".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()
        )
        (self._profile / "user.js").write_text(written, encoding="utf-8")
        options = ["--headless", "--no-remote", "--profile", str(self._profile), "--remote-debugging-port", "0"]
        process = subprocess.Popen([FIREFOX, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with ExitStack() as running:
            running.callback(_end, process)
            self._link = running.enter_context(self._connect())
            self._call("session.new", {"capabilities": {}})
            (self._tab,) = (one["context"] for one in self._call("browsingContext.getTree", {})["contexts"])
            self._running = running.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._running.close()

    def open(self, address: str) -> None:
        self._call("browsingContext.navigate", {"context": self._tab, "url": address, "wait": "complete"})

    # Any: whatever the script gives, as JSON.
    def evaluate(self, expression: str) -> Any:
        """What the expression gives on the page, as from a tap. Raises AssertionError where it throws."""
        given = {
            "expression": f"(async () => JSON.stringify(await ({expression})))()",
            "target": {"context": self._tab},
            "awaitPromise": True,
            "userActivation": True,
        }
        answer = self._call("script.evaluate", given)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def wait_for(self, expression: str, *, within_s: float) -> None:
        """Until the expression is true on the page."""
        eventually(lambda: self.evaluate(f"Boolean({expression})"), within_s=within_s)

    def _connect(self) -> ClientConnection:
        told = self._profile / "WebDriverBiDiServer.json"
        eventually(lambda: told.exists() and told.read_text().strip(), within_s=STARTS_S)
        address = json.loads(told.read_text())
        return connect(f"ws://{address['ws_host']}:{address['ws_port']}/session", max_size=None)

    # Any: answers differ by method.
    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._link.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._link.recv(timeout=ANSWERS_S))
            if answer.get("id") != number:
                continue  # an event, or what an earlier call was answered with
            assert answer["type"] == "success", answer
            result: dict[str, Any] = answer["result"]
            return result


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(ANSWERS_S)
