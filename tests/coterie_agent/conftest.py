"""Fixtures of the agent's tests."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from coterie_agent.config import Config
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.runner import Runner
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import Row
from coterie_learning.consent import SCOPES, Scope
from coterie_wire.conditions import Conditions
from coterie_wire.fallback import PlatformOffer
from coterie_wire.messages import Enrolled
from tests.coterie_agent.answering_platform import Answers
from tests.coterie_agent.bundles import Bundle, make_bundle, samples
from tests.coterie_agent.fake_platform import CREDENTIAL, TIMEOUT_S, FakePlatform, fake_platform


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    with open_store(home) as opened:
        yield opened


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return make_bundle()


def stock(store: Store, count: int) -> None:
    """Put `count` samples into it."""
    features, labels = samples(count)
    rows = [Row(x.tobytes(), int(label)) for x, label in zip(features, labels, strict=True)]
    store.samples.add(rows, max_samples=1000)


@pytest.fixture
def stocked(store: Store) -> Store:
    """A store with 60 samples."""
    stock(store, 60)
    return store


@pytest.fixture
def platform(bundle: Bundle) -> Iterator[FakePlatform]:
    with fake_platform(bundle) as served:
        yield served


@pytest.fixture
def agreed() -> tuple[Scope, ...]:
    """What the owner of `joined` has agreed to; a test may parametrize it."""
    return SCOPES


@pytest.fixture
def joined(store: Store, platform: FakePlatform, agreed: tuple[Scope, ...]) -> Store:
    """A store of a device that has joined `platform`."""
    enrolled = Enrolled(device="d1", credential=CREDENTIAL, platform_key=platform.bundle.platform_key, check_in_s=30)
    store.identity.save(url=platform.url, name="kiosk", enrolled=enrolled)
    store.agreements.agree(agreed, how="terminal", read="what it asks")
    return store


@pytest.fixture
def answers(store: Store, bundle: Bundle) -> Iterator[Answers]:
    """The platform that the device has joined, which answers for it."""
    answers = Answers()
    enrolled = Enrolled(device="d1", credential="secret", platform_key=bundle.platform_key, check_in_s=30)
    url = f"http://127.0.0.1:{answers.server.server_port}"
    store.identity.save(url=url, name="kiosk", enrolled=enrolled)
    store.platform_offer.hold(PlatformOffer("digits", 2))
    yield answers
    answers.goes.set()
    answers.server.shutdown()
    answers.server.server_close()


READY = Conditions(charging="yes", network="wifi", idle="yes", temperature_c=30.0)
UNPLUGGED = Conditions(charging="no", network="wifi", idle="yes")
OFFLINE = Conditions(charging="yes", network="none", idle="yes")


class Agent:
    """A running agent whose conditions a test sets."""

    def __init__(self, home: Home, store: Store, config: Config) -> None:
        self.conditions = READY
        self.situation = Situation()
        self._runner = Runner(
            home=home,
            config=config,
            store=store,
            read_conditions=lambda *, fresh: self.conditions,
            situation=self.situation,
            probe_period_s=0.05,
        )
        self.error: AgentError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Agent":
        self._thread.start()
        return self

    def stop(self) -> None:
        self.situation.stop()
        self.join()

    def join(self) -> None:
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._runner.run()
        except AgentError as error:
            self.error = error


@pytest.fixture
def new_agent(home: Home, joined: Store) -> Iterator[Callable[..., Agent]]:
    """Makes agents on the joined home, one after the other; they are stopped in the end."""
    agents: list[Agent] = []

    def make(**settings: object) -> Agent:
        agents.append(Agent(home, joined, msgspec.convert({"local_api": False, **settings}, Config)))
        return agents[-1]

    yield make
    for agent in agents:
        if agent.situation.now.edition:
            agent.stop()
