"""The console in another language: chosen under Settings, complete on every page, as accessible and no larger."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.console.axe import faults, too_wide
from tests.console.browser import settle
from tests.console.conftest import Visit
from tests.console.first_load import FETCHED, LARGEST_KB
from tests.console.pages import PAGES
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.system.processes import ROOT

pytestmark = pytest.mark.console
CATALOGUES = Path(ROOT, "frontend/console/src")
PLATFORM_SAYS = frozenset(
    {
        "Try again",  # a button beside repairs
        *("accuracy", "loss"),  # names of figures
        *("administrator", "operator", "viewer"),  # whom the seeded fleet has
        *("on call", "on-call channel"),  # names that it gives
    }
)
"""What the platform says in English in any language, in the words of some message of the console's."""


def _untranslated() -> frozenset[str]:
    """What the console says in English and not so in German, of messages without parts."""
    catalogues = [json.loads(path.read_text()) for path in CATALOGUES.glob("**/de.json")]
    said = {said for catalogue in catalogues for said in catalogue.values()}
    return frozenset(
        words
        for catalogue in catalogues
        for words in catalogue
        if words not in said and words not in PLATFORM_SAYS and not {"{", "<"} & set(words)
    )


def _in_german(visit: Visit, seeded: SeededFleet, *, width: int = 1280) -> Page:
    """Signed in, with German chosen where people choose it."""
    page = visit("/settings?tab=writing", at=seeded.url, name=ADMINISTRATOR, password=seeded.password, width=width)
    page.get_by_role("combobox", name="Language", exact=True).click()
    page.get_by_role("option", name="Deutsch").click()
    page.get_by_role("button", name="Write so in this browser").click()
    page.get_by_role("heading", name="Einstellungen").wait_for()
    return page


@pytest.mark.parametrize(
    ("width", "faults_of"),
    [
        pytest.param(390, too_wide, id="narrow"),
        pytest.param(390, faults, id="narrow and accessible", marks=pytest.mark.long),
        pytest.param(1280, faults, id="wide and accessible", marks=pytest.mark.long),
    ],
)
def test_every_page_is_in_the_language_that_was_chosen(
    visit: Visit, seeded: SeededFleet, width: int, faults_of: Callable[[Page], list[str]]
) -> None:
    page = _in_german(visit, seeded, width=width)
    titles = {may["title"] for may in page.request.get(f"{seeded.url}/api/session/").json()["may"]}
    english = _untranslated() - titles  # of actions, in the audit log
    found: list[str] = []
    for console_page in PAGES.values():
        address = console_page.at(seeded.keys)
        page.goto(address)
        settle(page)
        assert page.locator("html").get_attribute("lang") == "de"
        shown = {line.strip() for line in page.locator("body").inner_text().splitlines()}
        found += [f"{address}: in English: {words}" for words in sorted(shown & english)]
        found += [f"{address}: {fault}" for fault in faults_of(page)]
    assert not found, "\n".join(found)


def test_a_language_costs_the_first_page_nothing(visit: Visit, seeded: SeededFleet) -> None:
    page = _in_german(visit, seeded)
    scripts = {"en": 0, "de": 0}
    for path in (ROOT / "platform/coterie/gateway/static/console").rglob("*.js.br"):
        scripts["de" if "/console/de/" in str(path) else "en"] += path.stat().st_size
    assert scripts["de"] < 1.1 * scripts["en"]
    page.goto("/")
    page.get_by_role("heading", name="Übersicht").wait_for()
    page.wait_for_load_state("networkidle")
    assert sum(size_bytes for _path, size_bytes in page.evaluate(FETCHED)) <= 1000 * LARGEST_KB
    page.goto("/settings?tab=writing")
    page.get_by_role("combobox", name="Sprache", exact=True).click()
    page.get_by_role("option", name="English").click()
    page.get_by_role("button", name="In diesem Browser so schreiben").click()
    page.get_by_role("heading", name="Settings").wait_for()
