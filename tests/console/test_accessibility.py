"""No page has a fault that axe finds, in light and dark, wide and narrow; and none scrolls sideways."""

from typing import Any

import pytest

from tests.console.conftest import Visit, World
from tests.system.processes import ROOT

pytestmark = pytest.mark.console
AXE = ROOT / "frontend" / "console" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = (
    "/",
    "/devices",
    "/federations",
    "/federations/new",
    "/models",
    "/models/{pair}",
    "/enrol",
    "/jobs",
    "/audit",
    "/settings",
    "/settings?tab=tokens",
    "/nowhere",
)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_pages_are_accessible(visit: Visit, world: World, scheme: str, width: int) -> None:
    page = visit("/", scheme=scheme, width=width)
    found: list[str] = []
    for address in PAGES:
        page.goto(address.format(pair=world.pair))
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
