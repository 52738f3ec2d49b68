"""No page has a fault that axe finds, in light and dark, wide and narrow, empty and full; and none scrolls sideways."""

import pytest
from playwright.sync_api import Browser, Page

from tests.console.axe import LOOKS, OTHER_LOOKS, Look, faults, faults_in
from tests.console.browser import person, settle
from tests.console.conftest import Visit, World
from tests.console.pages import PAGES
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.console.states import empty

pytestmark = pytest.mark.console
BESIDE = (
    '/devices?status=waiting&show=["version","machine","cores","memory","agent","joined"]',
    "/settings?tab=password",
    "/settings/nowhere",
)
"""Looks of pages that are no pages of their own."""


def test_pages_of_a_fleet_at_work_are_accessible(visit: Visit, seeded: SeededFleet) -> None:
    assert_accessible(_opened(visit, seeded), [*_addresses(seeded), *BESIDE], LOOKS)


@pytest.mark.long
def test_pages_of_a_fleet_at_work_are_accessible_in_other_looks(visit: Visit, seeded: SeededFleet) -> None:
    assert_accessible(_opened(visit, seeded), [*_addresses(seeded), *BESIDE], OTHER_LOOKS)


@pytest.mark.long
def test_pages_with_nothing_to_show_are_accessible(visit: Visit, seeded: SeededFleet) -> None:
    page = _opened(visit, seeded)
    empty(page)
    assert_accessible(page, _addresses(seeded), OTHER_LOOKS)


def test_the_api_documentation_is_accessible_and_opens_at_a_request(visit: Visit, seeded: SeededFleet) -> None:
    page = _opened(visit, seeded)
    found = []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/api/docs/")
        page.locator("#operations-tag-devices button").wait_for()
        found += [f"{width} pixels: {fault}" for fault in faults(page)]
    assert not found, "\n".join(found)
    page.locator("#operations-tag-devices button").press("Enter")
    page.get_by_text("/api/devices/", exact=True).first.wait_for()


def test_signing_in_is_accessible(chromium: Browser, world: World) -> None:
    with person(chromium, world.url) as window:
        looks = tuple(Look(scheme, width) for scheme in ("light", "dark") for width in (1280, 320))
        assert_accessible(window.new_page(), ["/sign-in/", "/sign-in/over.link/"], looks)


def _opened(visit: Visit, seeded: SeededFleet) -> Page:
    return visit("/", at=seeded.url, name=ADMINISTRATOR, password=seeded.password)


def _addresses(seeded: SeededFleet) -> list[str]:
    return [page.at(seeded.keys) for page in PAGES.values()]


def assert_accessible(page: Page, addresses: list[str], looks: tuple[Look, ...]) -> None:
    """Open each in turn, and say everything that is wrong with any of them."""
    found: list[str] = []
    for address in addresses:
        page.goto(address)
        settle(page)
        found += [f"{address}, {fault}" for fault in faults_in(page, looks)]
    assert not found, "\n".join(found)
