"""``make screenshots``: pictures of every page of the console, with a fleet like a real one, for docs/console.md.

With ``ARGS="--states DIR"`` also those that nobody keeps, but somebody should look at: every page narrow, and wide and
narrow while it loads, when it fails, when there is nothing, and when the platform is gone. ``--dialogs DIR`` takes
those of what opens over pages, in light and dark, wide and narrow, and no others.
"""

import argparse
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page

from tests.console.browser import Scheme, browser, person, settle, sign_in
from tests.console.dialogs import DIALOGS
from tests.console.pages import PAGES
from tests.console.seeded import ADMINISTRATOR, SeededFleet, seeded_fleet
from tests.console.states import STATES, cut_off
from tests.system.processes import ROOT

PICTURES = ROOT / "docs" / "images" / "console"
WIDE, NARROW = 1440, 390
REDRAWN_MS = 200
TALLEST = 1200
"""Pixels of a page that a picture shows at most."""
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
ON_A_PHONE = ("overview", "devices", "device", "federation")
"""Pages of which the documentation has a narrow picture, too."""


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--devices", type=int, default=5000, help="how many the fleet has (default: %(default)s)")
    parser.add_argument("--states", type=Path, metavar="DIR", help="where to put the pictures that are not kept")
    parser.add_argument("--dialogs", type=Path, metavar="DIR", help="take those of dialogs alone, and put them there")
    asked = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        seeded_fleet(Path(directory) / "state", devices=asked.devices) as fleet,
        browser() as chromium,
    ):
        if asked.dialogs is not None:
            look_at_dialogs(chromium, fleet, asked.dialogs)
            return
        for scheme in SCHEMES:
            with person(chromium, fleet.url, scheme=scheme, width=WIDE) as stranger:
                take(stranger, "/sign-in/", PICTURES / f"sign-in-{scheme}.webp")
            with signed_in(chromium, fleet, scheme, WIDE) as window:
                for name, page in PAGES.items():
                    take(window, page.at(fleet.keys), PICTURES / f"{name}-{scheme}.webp")
        with signed_in(chromium, fleet, "light", NARROW) as window:
            for name in ON_A_PHONE:
                take(window, PAGES[name].at(fleet.keys), PICTURES / f"{name}-narrow.webp")
        if asked.states is not None:
            look_at_states(chromium, fleet, asked.states)


@contextmanager
def signed_in(chromium: Browser, fleet: SeededFleet, scheme: Scheme, width: int) -> Iterator[BrowserContext]:
    """A window in which the administrator is signed in."""
    window = person(chromium, fleet.url, scheme=scheme, width=width)
    page = window.new_page()
    sign_in(page, "/", name=ADMINISTRATOR, password=fleet.password)
    settle(page)
    page.close()
    yield window
    window.close()


def take(window: BrowserContext, address: str, to: Path) -> None:
    """A picture of the page as it is when everything has come."""
    page = window.new_page()
    page.goto(address)
    settle(page)
    keep(page, to)
    page.close()


def look_at_states(chromium: Browser, fleet: SeededFleet, directory: Path) -> None:
    """Pictures of every page in every state, wide and narrow."""
    directory.mkdir(parents=True, exist_ok=True)
    for width in (WIDE, NARROW):
        with signed_in(chromium, fleet, "light", width) as window:
            for name, its in PAGES.items():
                for state, enter in STATES.items():
                    page = window.new_page()
                    enter(page)
                    page.goto(its.at(fleet.keys))
                    page.wait_for_timeout(1_500)
                    keep(page, directory / f"{name}-{state}-{width}.png")
                    page.unroute_all(behavior="ignoreErrors")
                    page.close()
                page = window.new_page()
                cut = cut_off(page)
                page.goto(its.at(fleet.keys))
                settle(page)
                cut()
                page.get_by_text("The platform does not answer").wait_for()
                keep(page, directory / f"{name}-offline-{width}.png")
                page.close()
    for scheme in SCHEMES:
        with signed_in(chromium, fleet, scheme, NARROW) as window:
            for name, its in PAGES.items():
                take(window, its.at(fleet.keys), directory / f"{name}-{scheme}-{NARROW}.png")


def look_at_dialogs(chromium: Browser, fleet: SeededFleet, directory: Path) -> None:
    """Pictures of everything that opens over a page."""
    directory.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        for width in (WIDE, NARROW):
            with signed_in(chromium, fleet, scheme, width) as window:
                for name, its in DIALOGS.items():
                    page = window.new_page()
                    its.prepare(page)
                    page.goto(its.at(fleet.keys))
                    settle(page)
                    page.set_viewport_size({"width": width, "height": TALLEST})
                    its.open(page)
                    page.wait_for_timeout(REDRAWN_MS)
                    keep(page, directory / f"{name}-{scheme}-{width}.png")
                    page.unroute_all(behavior="ignoreErrors")
                    page.close()


def keep(page: Page, to: Path) -> None:
    """Write what the page shows in a window as high as the page, in the format that the name says."""
    width, height = page.evaluate("[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]")
    page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
    page.wait_for_timeout(REDRAWN_MS)
    taken = page.screenshot(animations="disabled")
    with Image.open(io.BytesIO(taken)) as picture:
        picture.convert("RGB").save(to, quality=75, method=6)


if __name__ == "__main__":
    main()
