"""What is wrong with a page as it is shown: what axe finds, and whether it scrolls sideways."""

from typing import Any

from playwright.sync_api import Page

from tests.system.processes import ROOT

AXE = ROOT / "frontend" / "console" / "node_modules" / "axe-core" / "axe.min.js"


def faults(page: Page) -> list[str]:
    """Each in a line."""
    page.evaluate(AXE.read_text())
    # Any: axe's own report, of which a few fields are read.
    report: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    found = [f"{violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in report["violations"]]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append("it scrolls sideways")
    return found
