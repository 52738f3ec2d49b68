"""Every page says that it waits, that it failed, that nothing is there, and that the platform is gone."""

import re
from collections.abc import Iterable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.console.browser import person, settle, sign_in, wait_until_shown
from tests.console.pages import OF_ONE_ROW, PAGES, TRIED
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.console.states import API, PARTS, PROBLEM, cut_off, empty, refuse, stall

pytestmark = pytest.mark.console


def each(names: Iterable[str]) -> list[object]:
    """Pages to try."""
    return [pytest.param(name, marks=[] if name in TRIED else pytest.mark.long) for name in names]


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, seeded: SeededFleet) -> Iterator[BrowserContext]:
    """The administrator's browser."""
    context = person(chromium, seeded.url)
    page = context.new_page()
    sign_in(page, "/", name=ADMINISTRATOR, password=seeded.password)
    settle(page)
    yield context
    context.close()


@pytest.fixture
def page(signed_in: BrowserContext) -> Iterator[Page]:
    tab = signed_in.new_page()
    yield tab
    tab.unroute_all(behavior="ignoreErrors")  # an answer may be on its way yet
    tab.close()


@pytest.mark.parametrize("name", each(PAGES))
def test_it_waits_fails_is_right_when_asked_again_and_keeps_what_it_shows_when_the_platform_is_gone(
    page: Page, seeded: SeededFleet, name: str
) -> None:
    """In one visit: a page takes seconds to open, and meets these states one after the other for people, too."""
    answer, cut = stall(page), cut_off(page)
    refuse(page)
    page.goto(PAGES[name].at(seeded.keys), wait_until="commit")
    if PAGES[name].asks:
        says_that_it_waits(page)
        answer()
        says_that_it_failed(page)
        expect(title(page)).to_be_visible()
        page.unroute(API)
        ask_again(page)
    else:
        answer()
        page.unroute(API)
    wait_until_shown(page)
    shown = page.get_by_role("main").get_by_role("heading").all_inner_texts()
    cut()
    expect(page.get_by_text("The platform does not answer: this is how things were before.")).to_be_visible()
    still_shown = page.get_by_role("main").get_by_role("heading").all_inner_texts()
    assert [heading for heading in still_shown if heading in shown] == shown, "and what was on its way may have come"


@pytest.mark.parametrize("name", OF_ONE_ROW)
def test_its_parts_wait_and_fail_by_themselves(page: Page, seeded: SeededFleet, name: str) -> None:
    answer = stall(page, PARTS)
    refuse(page, PARTS)
    page.goto(PAGES[name].at(seeded.keys), wait_until="commit")
    says_that_it_waits(page)
    answer()
    says_that_it_failed(page)


@pytest.mark.parametrize("name", each(name for name, page in PAGES.items() if page.empty is not None))
def test_it_says_that_nothing_is_there(page: Page, seeded: SeededFleet, name: str) -> None:
    empty(page)
    page.goto(PAGES[name].at(seeded.keys), wait_until="commit")
    expect(page.get_by_role("main").get_by_text(re.compile(re.escape(PAGES[name].empty or ""))).first).to_be_visible()


def says_that_it_waits(page: Page) -> None:
    """Something is awaited, and what it belongs to has its title already."""
    expect(waiting(page).first).to_be_visible()
    expect(title(page)).to_be_visible()


def says_that_it_failed(page: Page) -> None:
    """Why, and nothing is awaited any more."""
    expect(failures(page).first).to_contain_text(str(PROBLEM["detail"]))
    expect(waiting(page)).to_have_count(0)


def ask_again(page: Page) -> None:
    """Press every "Try again" until nothing has failed."""
    while failures(page).count():
        before = failures(page).count()
        failures(page).first.get_by_role("button", name="Try again").click()
        expect(failures(page)).not_to_have_count(before)
    expect(title(page)).to_be_visible()


def title(page: Page) -> Locator:
    """The page's."""
    return page.get_by_role("heading", level=1)


def waiting(page: Page) -> Locator:
    """Whatever on the page is still awaited."""
    return page.get_by_role("main").locator("[aria-busy=true]")


def failures(page: Page) -> Locator:
    """Whatever on the page could not be shown."""
    return page.get_by_role("main").get_by_role("alert").filter(has_text="This could not be shown")
