"""Fixtures of the system tests: real platforms on prepared states."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.seed import Seeded

PAIRS = 24


class Prepared(NamedTuple):
    """A state directory, and who may use it."""

    state: Path
    seeded: Seeded


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A platform's state with model pairs, made once."""
    directory = tmp_path_factory.mktemp("prepared")
    state = directory / "state"
    return Prepared(state, prepare_state(directory, pairs=PAIRS, state=str(state)))


class Site:
    """A platform that runs, and its operator."""

    def __init__(self, platform: Platform, seeded: Seeded, operator: OperatorClient) -> None:
        self.platform = platform
        self.operator = operator
        self.held_out = seeded.held_out
        self._pairs = iter(seeded.pairs)

    @property
    def url(self) -> str:
        return self.platform.url

    def unused_pair(self) -> str:
        """A pair that no federation has used: for a test that shares the platform with others."""
        return next(self._pairs)


@pytest.fixture(scope="session")
def site(prepared: Prepared) -> Iterator[Site]:
    """A platform that the tests share; each has pairs, federations and devices of its own."""
    platform = Platform(prepared.state)
    try:
        platform.start()
        with OperatorClient(platform.url, prepared.seeded.token) as operator:
            yield Site(platform, prepared.seeded, operator)
    finally:
        platform.stop()
