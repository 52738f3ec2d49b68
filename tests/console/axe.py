"""What is wrong with a page as it is shown: what axe finds, and whether it scrolls sideways."""

from typing import Any, NamedTuple

from playwright.sync_api import Page

from tests.console.browser import Scheme, settle
from tests.system.processes import ROOT

AXE = ROOT / "frontend" / "console" / "node_modules" / "axe-core" / "axe.min.js"


class Look(NamedTuple):
    """How a page is looked at."""

    scheme: Scheme
    width: int
    """Of the window, in CSS pixels."""


LOOKS = Look("light", 1280), Look("dark", 390)
"""That show between them each scheme and each width."""
OTHER_LOOKS = Look("dark", 1280), Look("light", 390)
"""The other pairs of the two."""


def faults_in(page: Page, looks: tuple[Look, ...]) -> list[str]:
    """Those of the page that is open, in each of the looks, which come one after the other without opening it anew."""
    found: list[str] = []
    for look in looks:
        page.emulate_media(color_scheme=look.scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": look.width, "height": 900})
        settle(page)
        found += [f"{look.scheme}, {look.width} pixels: {fault}" for fault in faults(page)]
    return found


def faults(page: Page) -> list[str]:
    """Each in a line."""
    page.evaluate(AXE.read_text())
    # Without preloading: of the rules that axe applies, only that about sounds needs it, and no page plays any.
    # Any: axe's own report, of which a few fields are read.
    report: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    found = [f"{violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in report["violations"]]
    return found + too_wide(page)


def too_wide(page: Page) -> list[str]:
    """Whether it scrolls sideways, as a fault."""
    wider = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return ["it scrolls sideways"] if wider else []
