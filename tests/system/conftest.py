"""Fixtures of the system tests: real platforms on prepared states."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import redis

from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.scaled import REDIS, new_database
from tests.system.seed import Seeded

PAIRS = 25


class Prepared(NamedTuple):
    """A state directory, and who may use it."""

    state: Path
    seeded: Seeded
    untouched: Path
    """The same state, on which nobody runs a platform: to be copied."""


@pytest.fixture(scope="package")
def prepared(tmp_path_factory: pytest.TempPathFactory, worker_id: str, migrated: Path) -> Prepared:
    """A platform's state with model pairs; the first process of a test run makes it, the others copy it."""
    own = tmp_path_factory.getbasetemp()
    shared = (own if worker_id == "master" else own.parent) / "prepared"
    shared.mkdir(exist_ok=True)
    told = shared / "seeded.json"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            seeded = prepare_state(shared, pairs=PAIRS, tables=migrated, state=str(shared / "state"))
            told.write_bytes(msgspec.json.encode(seeded))
    state = tmp_path_factory.mktemp("platform") / "state"
    shutil.copytree(shared / "state", state)
    return Prepared(state, msgspec.json.decode(told.read_bytes(), type=Seeded), shared / "state")


class Site:
    """A platform that runs, and its operator."""

    def __init__(self, platform: Platform, seeded: Seeded, operator: OperatorClient) -> None:
        self.platform = platform
        self.operator = operator
        self.token = seeded.token
        self.held_out = seeded.held_out
        self._pairs = iter(seeded.pairs)

    @property
    def url(self) -> str:
        return self.platform.url

    def unused_pair(self) -> str:
        """A pair that no federation has used: for a test that shares the platform with others."""
        return next(self._pairs)


@pytest.fixture(scope="package")
def shared_site(prepared: Prepared) -> Iterator[Site]:
    """A platform that all tests of this process share."""
    platform = Platform(prepared.state)
    try:
        platform.start()
        with OperatorClient(platform.url, prepared.seeded.token) as operator:
            yield Site(platform, prepared.seeded, operator)
    finally:
        platform.stop()


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Iterator[Site]:
    """It, for a file of tests: each has pairs, federations and devices of its own, and no federation outlives it."""
    yield shared_site
    for federation in shared_site.operator.list("/federations/", state="running"):
        shared_site.operator.post(f"/federations/{federation['id']}/finish/")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a database of its own."""
    with new_database() as address:
        yield address


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The address of a Redis database that was empty, and is again."""
    for number in range(1, 15):
        with closing(redis.Redis.from_url(f"{REDIS}/{number}")) as client:
            if not client.dbsize():
                yield f"{REDIS}/{number}"
                client.flushdb()
                return
    pytest.fail("no Redis database from 1 to 14 is empty")
