"""No page has a fault that axe finds, in light and dark, wide and narrow, empty and full; and none scrolls sideways."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.console.browser import Scheme, settle
from tests.console.conftest import Visit
from tests.console.pages import PAGES
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.console.states import empty
from tests.system.processes import ROOT

pytestmark = pytest.mark.console
AXE = ROOT / "frontend" / "console" / "node_modules" / "axe-core" / "axe.min.js"
LOOKS = pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
BESIDE = ('/devices?status=waiting&show=["version","machine","cores","memory","agent","joined"]', "/nowhere")
"""Looks of pages that are no pages of their own."""


@LOOKS
def test_pages_of_a_fleet_at_work_are_accessible(visit: Visit, seeded: SeededFleet, scheme: Scheme, width: int) -> None:
    assert_accessible(_opened(visit, seeded, scheme, width), [*_addresses(seeded), *BESIDE])


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_pages_with_nothing_to_show_are_accessible(
    visit: Visit, seeded: SeededFleet, scheme: Scheme, width: int
) -> None:
    page = _opened(visit, seeded, scheme, width)
    empty(page)
    assert_accessible(page, _addresses(seeded))


def _opened(visit: Visit, seeded: SeededFleet, scheme: Scheme, width: int) -> Page:
    return visit("/", at=seeded.url, name=ADMINISTRATOR, password=seeded.password, scheme=scheme, width=width)


def _addresses(seeded: SeededFleet) -> list[str]:
    return [page.at(seeded.keys) for page in PAGES.values()]


def assert_accessible(page: Page, addresses: list[str]) -> None:
    """Open each in turn, and say everything that is wrong with any of them."""
    found: list[str] = []
    for address in addresses:
        page.goto(address)
        settle(page)
        page.evaluate(AXE.read_text())
        # Any: axe's own report, of which a few fields are read.
        report: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{address}: {violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in report["violations"]
        ]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found.append(f"{address} scrolls sideways")
    assert not found, "\n".join(found)
