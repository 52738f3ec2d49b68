"""No page has a fault that axe finds, in light and dark, wide and narrow, empty and full; and none scrolls sideways."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.console.conftest import SeededFleet, Visit, World
from tests.system.processes import ROOT

pytestmark = pytest.mark.console
AXE = ROOT / "frontend" / "console" / "node_modules" / "axe-core" / "axe.min.js"
LOOKS = pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
EMPTY = (
    "/",
    "/devices",
    "/federations",
    "/federations/new",
    "/models",
    "/models/{pair}",
    "/help",
    "/parts",
    "/enrol",
    "/jobs",
    "/audit",
    "/settings",
    "/settings?tab=tokens",
    "/settings?tab=webhooks",
    "/settings?tab=deliveries",
    "/nowhere",
)
FULL = (
    "/",
    "/devices",
    '/devices?status=waiting&show=["version","machine","cores","memory","agent","joined"]',
    "/devices/{device}",
    "/federations",
    "/federations/{federation}",
    "/federations/{federation}?tab=groups",
    "/federations/{federation}?tab=plan",
    "/federations/{federation}/rounds/{round}",
    "/models",
    "/models/{pair}?version={first}&against={second}",
    "/help",
    "/parts",
    "/jobs",
    "/audit",
    "/settings?tab=webhooks",
    "/settings?tab=deliveries",
)


@LOOKS
def test_pages_of_an_empty_platform_are_accessible(visit: Visit, world: World, scheme: str, width: int) -> None:
    page = visit("/", scheme=scheme, width=width)
    assert_accessible(page, [address.format(pair=world.pair) for address in EMPTY])


@LOOKS
def test_pages_of_a_fleet_at_work_are_accessible(visit: Visit, seeded: SeededFleet, scheme: str, width: int) -> None:
    page = visit("/", at=seeded.url, name="administrator", password=seeded.password, scheme=scheme, width=width)
    keys = seeded.keys._asdict()
    assert_accessible(page, [address.format(**keys) for address in FULL])


def assert_accessible(page: Page, addresses: list[str]) -> None:
    """Open each in turn, and say everything that is wrong with any of them."""
    found: list[str] = []
    for address in addresses:
        page.goto(address)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        page.evaluate(AXE.read_text())
        # Any: axe's own report, of which a few fields are read.
        report: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{address}: {violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in report["violations"]
        ]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found.append(f"{address} scrolls sideways")
    assert not found, "\n".join(found)
