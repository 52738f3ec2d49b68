"""A phone: a browser context of its own, whose network and battery the test sets, and tabs that it opens and kills."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, CDPSession, ConsoleMessage, Page, expect, sync_playwright

from tests.console.browser import CHROMIUM, PATIENCE_MS, QUIET

# Chromium on a computer knows the type of its network only so; on Android it always does.
TELLS_NETWORK = "--enable-blink-features=NetInfoDownlinkMax"
BATTERY = """
const battery = new EventTarget();
Object.assign(battery, { charging: true, level: 0.5 });
navigator.getBattery = async () => battery;
globalThis.setCharging = (charging) => {
  battery.charging = charging;
  battery.dispatchEvent(new Event("chargingchange"));
};
"""
TELLS_NOTHING = """
delete Navigator.prototype.getBattery;
delete Navigator.prototype.connection;
delete globalThis.IdleDetector;
"""


@contextmanager
def phone_browser() -> Iterator[Browser]:
    """The browser, until the block ends."""
    assert CHROMIUM, "install Chromium first, e.g. apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, TELLS_NETWORK])
        try:
            yield started
        finally:
            started.close()


class BrowserPhone:
    """One browser with its own storage, 360 pixels wide; one that tells nothing has no battery and no network type."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        name: str,
        *,
        tells: bool = True,
        zone: str | None = None,
        permissions: Sequence[str] = (),
    ) -> None:
        """`zone` is its time zone; None: as the machine's. The owner gives the `permissions` that are asked for."""
        self.name, self.url, self._tells = name, url, tells
        self._context = browser.new_context(base_url=url, viewport={"width": 360, "height": 800}, timezone_id=zone)
        self._context.set_default_timeout(PATIENCE_MS)
        self._context.grant_permissions(list(permissions))
        self._context.add_init_script(BATTERY if tells else TELLS_NOTHING)
        self.complaints: list[str] = []
        self.page: Page | None = None
        self._network: CDPSession | None = None

    def open(self, address: str = "/phone/") -> Page:
        """A tab, on Wi-Fi and the charger where the browser tells."""
        page = self._context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page = page
        if self._tells:
            self._network = self._context.new_cdp_session(page)
            self.set_network("wifi")
        page.goto(address)
        return page

    def set_network(self, kind: str) -> None:
        """What the browser says that it is connected by, e.g. ``wifi`` or ``cellular4g``."""
        assert self._network is not None
        # Chromium takes the type only together with a speed, here one that nobody notices.
        speed = {"latency": 1, "downloadThroughput": 50e6, "uploadThroughput": 50e6}
        self._network.send("Network.enable")
        self._network.send(
            "Network.emulateNetworkConditions", {**speed, "offline": kind == "none", "connectionType": kind}
        )

    def set_charging(self, charging: bool) -> None:
        assert self.page is not None
        self.page.evaluate(f"setCharging({str(charging).lower()})")

    def allow_idle_detection(self) -> None:
        """As its owner, when the browser asks whether it may tell that somebody uses the device."""
        session = self._session()
        place = session.send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        session.send("Browser.grantPermissions", {"permissions": ["idleDetection"], "browserContextId": place})

    def set_idle(self, idle: bool) -> None:
        """What the browser then says."""
        self._session().send("Emulation.setIdleOverride", {"isUserActive": not idle, "isScreenUnlocked": True})

    def _session(self) -> CDPSession:
        assert self._network is not None
        return self._network

    def join(self, token: str) -> Page:
        """By the link, as from a camera."""
        page = self.open(f"/phone/#join={token}")
        page.get_by_label("What your device is called there").fill(self.name)
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(self.name)
        return page

    def add_samples(self, directory: Path, x: NDArray[np.float32], y: NDArray[np.int64], *, before: int = 0) -> None:
        """From a file that the owner picks; so many are there `before`."""
        assert self.page is not None
        path = directory / f"{self.name}.csv"
        flat = x.reshape(len(x), -1)
        header = ",".join([*(f"x{place}" for place in range(flat.shape[1])), "label"])
        np.savetxt(path, np.column_stack([flat, y]), delimiter=",", header=header, comments="", fmt="%.6g")
        self.page.get_by_label("Add samples").set_input_files(path)
        expect(self.page.get_by_role("heading", name=f"Samples in this browser: {before + len(x)}")).to_be_visible()

    def kill(self) -> None:
        """Close the tab without asking it, as a system out of memory does."""
        assert self.page is not None
        self.page.close(run_before_unload=False)
        self.page = None

    def close(self) -> None:
        self._context.close()

    def _heard(self, message: ConsoleMessage) -> None:
        # A platform that is away is no fault of the page.
        if message.type in ("error", "warning") and "net::ERR_INTERNET_DISCONNECTED" not in message.text:
            self.complaints.append(message.text)
