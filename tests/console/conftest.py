"""Fixtures of the console's tests: a real platform, real agents, and Debian's Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from coterie.config.settings import CONSOLE_PAGE
from tests.console.browser import PATIENCE_MS, Scheme, browser, person, sign_in
from tests.console.seeded import SeededFleet, seeded_fleet
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.real_agent import RealAgent

SEEDED_DEVICES = 120
PASSWORD = "correct horse battery staple"
expect.set_options(timeout=PATIENCE_MS)


class World(NamedTuple):
    """A platform that runs, with a model pair that is ready, and who may sign in."""

    platform: Platform
    operator: OperatorClient
    pair: str
    directory: Path

    @property
    def url(self) -> str:
        return self.platform.url


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[World]:
    """One platform for all tests."""
    assert CONSOLE_PAGE.exists(), "build the console first: make console"
    directory = tmp_path_factory.mktemp("console")
    seeded = prepare_state(directory / "prepared", pairs=1, tables=migrated, state=str(directory / "state"))
    platform = Platform(directory / "state")
    try:
        platform.start()
        with OperatorClient(platform.url, seeded.token) as operator:
            let_in(operator, "ada", role="operator")
            let_in(operator, "vera", role="viewer")
            yield World(platform, operator, seeded.pairs[0], directory)
    finally:
        platform.stop()


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededFleet]:
    """One platform on which every page has something to show."""
    with seeded_fleet(tmp_path_factory.mktemp("seeded") / "state", devices=SEEDED_DEVICES) as fleet:
        yield fleet


def let_in(operator: OperatorClient, name: str, *, role: str) -> None:
    """Invite a person, who signs in by the link and chooses a password."""
    choose_password(operator, invite(operator, name, role=role))


def invite(operator: OperatorClient, name: str, *, role: str) -> str:
    """The link that signs a new person in."""
    link: str = operator.post("/operators/", {"username": name, "role": role})["sign_in_path"]
    return link


def choose_password(operator: OperatorClient, link: str) -> None:
    """Who was invited signs in by the link and chooses a password."""
    url = str(operator.http.base_url).removesuffix("/api/")
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        browser.get(link)
        browser.post(link, data={"csrfmiddlewaretoken": browser.cookies["csrftoken"]})
        headers = {"X-CSRFToken": browser.cookies["csrftoken"]}
        answer = browser.post("/api/session/password/", json={"current": "", "new": PASSWORD}, headers=headers)
        assert answer.status_code == 204, answer.text


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def page_of(message: ConsoleMessage) -> str:
    """Where it was said."""
    return message.page.url if message.page is not None else "?"


Visit = Callable[..., Page]
Join = Callable[[str, str], RealAgent]


@pytest.fixture
def visit(world: World, chromium: Browser) -> Iterator[Visit]:
    """Open an address as a person; whatever the page complains of fails the test at its end."""
    complaints: list[str] = []
    contexts = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{message.text} ({page_of(message)})")

    def open_(
        address: str,
        *,
        at: str = world.url,
        name: str = "ada",
        password: str = PASSWORD,
        scheme: Scheme = "light",
        width: int = 1280,
    ) -> Page:
        context = person(chromium, at, scheme=scheme, width=width)
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        sign_in(page, address, name=name, password=password)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def agents(world: World) -> Iterator[Join]:
    """Devices that join with an enrolment token and run."""
    started: list[RealAgent] = []

    def join(name: str, token: str) -> RealAgent:
        agent = RealAgent(world.directory / name, world.url, token)
        agent.start()
        started.append(agent)
        return agent

    yield join
    for agent in started:
        agent.kill()
