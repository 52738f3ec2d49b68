"""Fixtures of the console's tests: a real platform, real agents, and Debian's Chromium."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from coterie.config.settings import CONSOLE_PAGE
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, Platform, environment, prepare_state
from tests.system.real_agent import RealAgent

SEEDED_DEVICES = 120
PASSWORD = "correct horse battery staple"
CHROMIUM = shutil.which("chromium")
# Without these it looks up its maker's hosts at every start.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 20_000
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
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One platform for all tests."""
    assert CONSOLE_PAGE.exists(), "build the console first: make console"
    directory = tmp_path_factory.mktemp("console")
    seeded = prepare_state(directory / "prepared", pairs=1, state=str(directory / "state"))
    platform = Platform(directory / "state")
    try:
        platform.start()
        with OperatorClient(platform.url, seeded.token) as operator:
            _let_in(operator, "ada", role="operator")
            _let_in(operator, "vera", role="viewer")
            yield World(platform, operator, seeded.pairs[0], directory)
    finally:
        platform.stop()


class Keys(NamedTuple):
    """Rows of the seeded fleet that have much to show."""

    device: str
    """One that has helped another."""
    federation: str
    """One that is divided into groups."""
    round: int
    pair: str
    first: str
    second: str
    """Versions of the pair."""


class SeededFleet(NamedTuple):
    """A platform that looks like one with weeks behind it."""

    url: str
    password: str
    """The administrator's."""
    keys: Keys


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededFleet]:
    """One platform on which every page has something to show."""
    state = tmp_path_factory.mktemp("seeded") / "state"
    command = [sys.executable, "manage.py", "seed_fleet", "--devices", str(SEEDED_DEVICES)]
    done = subprocess.run(
        command, env=environment(state=str(state)), stdout=subprocess.PIPE, check=True, cwd=ROOT, text=True
    )
    found = re.search(r"^administrator +password: (\S+)$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    platform = Platform(state)
    try:
        platform.start()
        given = httpx.post(f"{platform.url}/api/tokens/", auth=("administrator", found[1]), json={"name": "tests"})
        with OperatorClient(platform.url, given.json()["secret"]) as operator:
            yield SeededFleet(platform.url, found[1], _keys(operator))
    finally:
        platform.stop()


def _keys(operator: OperatorClient) -> Keys:
    federation = operator.list("/groups/")[0]["federation"]
    pair = operator.get(f"/federations/{federation}/")["pair"]
    first, second = operator.list("/versions/", pair=pair, role="device", line="", page_size=2)
    return Keys(
        device=operator.list("/transfers/")[0]["helper"],
        federation=federation,
        round=operator.list("/rounds/", federation=federation, state="published")[0]["id"],
        pair=pair,
        first=first["id"],
        second=second["id"],
    )


def _let_in(operator: OperatorClient, name: str, *, role: str) -> None:
    """Invite a person, who signs in by the link and chooses a password."""
    link = operator.post("/operators/", {"username": name, "role": role})["sign_in_path"]
    url = str(operator.http.base_url).removesuffix("/api/")
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        browser.get(link)
        headers = {"X-CSRFToken": browser.cookies["csrftoken"]}
        answer = browser.post("/api/session/password/", json={"current": "", "new": PASSWORD}, headers=headers)
        assert answer.status_code == 204, answer.text


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    assert CHROMIUM, "install Chromium first, e.g. apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


def page_of(message: ConsoleMessage) -> str:
    """Where it was said."""
    return message.page.url if message.page is not None else "?"


Visit = Callable[..., Page]


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
        scheme: str = "light",
        width: int = 1280,
    ) -> Page:
        context = chromium.new_context(
            base_url=at,
            color_scheme=scheme,
            reduced_motion="reduce",
            viewport={"width": width, "height": 900},
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def agents(world: World) -> Iterator[Callable[[str, str], RealAgent]]:
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
