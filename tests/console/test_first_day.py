"""A platform on its first day, with one administrator and nothing else: every page says so, and none has a fault."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from coterie.config.announce import FirstOperator
from coterie.config.settings import CONSOLE_PAGE
from tests.console.axe import LOOKS, faults_in
from tests.console.browser import person, settle, sign_in
from tests.console.pages import PAGES
from tests.system.processes import Platform

pytestmark = pytest.mark.console
NOBODY = "/devices/00000000-0000-4000-8000-000000000000"
"""A link to what is not there, or not any more."""
EXAMPLE_MS = 900_000
"""Until the example has held its rounds, at most."""
FULL = ("audit", "people", "sessions")
"""The administrator stands there."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One that has just been started for the first time."""
    assert CONSOLE_PAGE.exists(), "build the console first: make console"
    platform = Platform(tmp_path_factory.mktemp("fresh") / "state")
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()


def test_every_page_says_that_nothing_is_there_and_has_no_fault(chromium: Browser, fresh: Platform) -> None:
    (administrator,) = fresh.told(FirstOperator)
    found: list[str] = []
    with person(chromium, fresh.url) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: found.append(str(error)))
        sign_in(page, "/", name=administrator.name, password=Path(administrator.password_file).read_text())
        settle(page)
        of_no_row = {name: its for name, its in PAGES.items() if "{" not in its.address}
        for name, address in [*((name, its.address) for name, its in of_no_row.items()), ("nobody", NOBODY)]:
            page.goto(address)
            settle(page)
            found += [f"{address}, {fault}" for fault in faults_in(page, LOOKS)]
            empty = PAGES[name].empty if name in PAGES and name not in FULL else None
            if empty is not None:
                expect(page.get_by_role("main").get_by_text(empty).first).to_be_visible()
    assert not found, "\n".join(found)


def test_the_example_learns_and_leaves_nothing_to_repair(chromium: Browser, fresh: Platform) -> None:
    (administrator,) = fresh.told(FirstOperator)
    with person(chromium, fresh.url) as context:
        page = context.new_page()
        sign_in(page, "/", name=administrator.name, password=Path(administrator.password_file).read_text())
        page.get_by_role("button", name="Try it", exact=True).click()
        page.get_by_text("Try the digits example here").wait_for(state="detached", timeout=EXAMPLE_MS)
        page.goto("/federations")
        page.get_by_role("link", name="Digits example").click()
        page.get_by_role("main").get_by_text("finished, 4 devices").wait_for(timeout=EXAMPLE_MS)
        page.goto("/")
        expect(page.get_by_role("main").get_by_text("Nothing needs you.")).to_be_visible()
        expect(page.get_by_role("main").get_by_text("4 ready", exact=True)).to_be_visible()
