"""Debian's Chromium, and how a person opens the console with it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 20_000
# Without these it looks up its maker's hosts at every start.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Scheme = Literal["light", "dark"]


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser, until the block ends."""
    assert CHROMIUM, "install Chromium first, e.g. apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        try:
            yield started
        finally:
            started.close()


def person(browser: Browser, url: str, *, scheme: Scheme = "light", width: int = 1280) -> BrowserContext:
    """Somebody who sits before a window of that width, in CSS pixels, and likes those colours."""
    context = browser.new_context(
        base_url=url,
        color_scheme=scheme,
        reduced_motion="reduce",
        viewport={"width": width, "height": 900},
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


def sign_in(page: Page, address: str, *, name: str, password: str) -> None:
    """Open an address as who is not signed in yet."""
    page.goto(address)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def wait_until_shown(page: Page) -> None:
    """Wait until the page has its title and nothing on it is awaited."""
    page.get_by_role("heading", level=1).wait_for()
    page.locator("main [aria-busy=true]").first.wait_for(state="detached")


def settle(page: Page) -> None:
    """Wait until the page is shown, asks for nothing more and has drawn what came."""
    wait_until_shown(page)
    page.wait_for_load_state("networkidle")
    wait_until_shown(page)
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
