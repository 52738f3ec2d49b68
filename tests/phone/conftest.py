"""Fixtures of the phone's tests: a real platform, real agents, and Chromium as the phone's browser."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from coterie.config.settings import PHONE_PAGE
from tests.console.browser import PATIENCE_MS
from tests.phone.browser_phone import BrowserPhone, phone_browser
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, Platform, environment, prepare_state
from tests.system.real_agent import RealAgent

PAIRS = 24
expect.set_options(timeout=PATIENCE_MS)


class World(NamedTuple):
    """A platform that runs, and an operator of it."""

    platform: Platform
    operator: OperatorClient
    pairs: Iterator[str]
    directory: Path

    @property
    def url(self) -> str:
        return self.platform.url


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[World]:
    """One platform for all tests."""
    assert PHONE_PAGE.exists(), "build the phone's page first: make phone"
    directory = tmp_path_factory.mktemp("phone")
    seeded = prepare_state(directory / "prepared", pairs=PAIRS, tables=migrated, state=str(directory / "state"))
    platform = Platform(directory / "state")
    try:
        platform.start()
        with OperatorClient(platform.url, seeded.token) as operator:
            yield World(platform, operator, iter(seeded.pairs), directory)
    finally:
        platform.stop()


@pytest.fixture(scope="session")
def recipe_pairs(world: World) -> Mapping[str, str]:
    """Pairs of the recipes of `tests.phone.seed`, by the recipe's name."""
    command = [sys.executable, "-m", "tests.phone.seed"]
    settings = environment(state=str(world.platform.state))
    done = subprocess.run(command, env=settings, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    return msgspec.json.decode(done.stdout, type=dict[str, str])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with phone_browser() as started:
        yield started


NewPhone = Callable[..., BrowserPhone]


@pytest.fixture
def phones(world: World, chromium: Browser) -> Iterator[NewPhone]:
    """Phones by their names; whatever a page complains of fails the test at its end."""
    made: list[BrowserPhone] = []

    def open_(
        name: str, *, tells: bool = True, zone: str | None = None, permissions: Sequence[str] = ()
    ) -> BrowserPhone:
        phone = BrowserPhone(chromium, world.url, name, tells=tells, zone=zone, permissions=permissions)
        made.append(phone)
        return phone

    yield open_
    for phone in made:
        phone.close()
    complaints = [complaint for phone in made for complaint in phone.complaints]
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def agents(world: World, tmp_path: Path) -> Iterator[Callable[..., RealAgent]]:
    """Devices that join with an enrolment token and run."""
    started: list[RealAgent] = []

    def join(name: str, token: str, **more: Any) -> RealAgent:
        agent = RealAgent(tmp_path / name, world.url, token, **more)
        agent.start()
        started.append(agent)
        return agent

    yield join
    for agent in started:
        agent.kill()
