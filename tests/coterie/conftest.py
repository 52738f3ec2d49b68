"""What tests of the platform share."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.core.away import AWAY, STORAGE
from coterie.fleet.services import EnrolledDevice, create_enrolment_token, enrol_device
from coterie.gateway.example import Example
from coterie.simulation.learners import compiled_once
from coterie_wire.messages import Capabilities
from tests.coterie.agent_rollouts.world import published_in, repository

PUBLIC_URL = "http://localhost"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CAPABILITIES = Capabilities(cores=4, memory_bytes=1 << 30, machine="aarch64 Linux", agent="0.1.0")


@pytest.fixture(autouse=True)
def no_storage_is_away() -> Iterator[None]:
    """A test that has a storage fail leaves no trace in the process."""
    yield
    AWAY.record_answer(STORAGE)


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None, request: pytest.FixtureRequest) -> bool:
    """The test database is there before it is set up, where it is a file: a copy of one that has been migrated."""
    if connection.vendor != "sqlite":
        return False
    migrated: Path = request.getfixturevalue("migrated")
    shutil.copyfile(migrated, settings.DATABASES["default"]["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Without the triggers that keep what is only added from being deleted: some tests empty all tables."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for table in ("audit_entry", "privacy_charge"):
            on_table = "" if connection.vendor == "sqlite" else f" ON {table}"
            cursor.execute(f"DROP TRIGGER {table}_no_delete{on_table}")


@pytest.fixture(scope="session", autouse=True)
def compiled_for_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What simulations compile is kept beside other files of the tests, not in one's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_once, "DIRECTORY", tmp_path_factory.mktemp("compiled"))
        yield


@pytest.fixture
def idle_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digits example, where an endpoint starts it, does nothing, and no other test finds it started."""

    def launch(_command: object, **pipes: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen([sys.executable, "-c", ""], **pipes)

    monkeypatch.setattr("coterie.gateway.example_api.EXAMPLE", Example(launch))


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of agent releases."""
    return repository(tmp_path_factory.mktemp("releases")).root


@pytest.fixture
def writable(releases: Path, settings: Settings) -> None:
    """What some writes need of an installation: an address at which passkeys work, and agent releases."""
    settings.PUBLIC_URL = PUBLIC_URL
    published_in(releases, settings)


@pytest.fixture
def now() -> datetime:
    """A fixed moment: services are told the time."""
    return NOW


@pytest.fixture
def enrol(db: None) -> Callable[..., EnrolledDevice]:
    """Enrols a device: ``enrol(name, tags=(), at=NOW)`` gives it and its credential."""
    numbers = count(1)

    def enrolled(name: str = "", *, tags: tuple[str, ...] = (), at: datetime = NOW) -> EnrolledDevice:
        expires_at = at + timedelta(hours=1)
        secret = create_enrolment_token(label="tests", expires_at=expires_at, tags=tags, now=at).secret
        return enrol_device(secret=secret, name=name or f"device-{next(numbers)}", capabilities=CAPABILITIES, now=at)

    return enrolled


@pytest.fixture
def api(db: None) -> APIClient:
    """The REST API as an operator uses it who may do everything."""
    client = APIClient()
    client.force_authenticate(create_operator(username="ada").operator)
    return client
