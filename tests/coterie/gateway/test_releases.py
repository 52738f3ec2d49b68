"""Files of the repository of releases reach devices as they are, and nothing else does."""

from pathlib import Path

import httpx
import pytest
from pytest_django import Settings

from coterie.releases.repository import Repository
from tests.coterie.agent_rollouts.world import published_in, repository
from tests.coterie.world import make_device

pytestmark = pytest.mark.django_db(transaction=True)
BEARER = {"Authorization": "Bearer kiosk"}


@pytest.fixture(autouse=True)
def releases(settings: Settings, tmp_path: Path) -> Repository:
    make_device("kiosk")
    made = repository(tmp_path)
    published_in(made.root, settings)
    return made


async def test_files_come_as_they_are(http: httpx.AsyncClient, releases: Repository) -> None:
    (wheel,) = releases.targets.iterdir()
    for part, path in (("metadata", releases.metadata / "1.root.json"), ("targets", wheel)):
        answer = await http.get(f"releases/{part}/{path.name}", headers=BEARER)
        assert answer.content == path.read_bytes()
        assert "immutable" in answer.headers["cache-control"]
    head = await http.head(f"releases/targets/{wheel.name}", headers=BEARER)
    assert (head.headers["content-length"], head.content) == ("7", b"")


async def test_the_timestamp_is_asked_for_anew(http: httpx.AsyncClient) -> None:
    answer = await http.get("releases/metadata/timestamp.json", headers=BEARER)
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["metadata/9.root.json", "keys/root-1.pem", "metadata/..%2f..%2fkeys", "metadata/.x"])
async def test_there_is_nothing_else(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(f"releases/{path}", headers=BEARER)
    assert answer.status_code == 404


async def test_strangers_are_refused(http: httpx.AsyncClient) -> None:
    assert (await http.get("releases/metadata/timestamp.json")).status_code == 401


async def test_without_a_repository_there_are_none(http: httpx.AsyncClient, settings: Settings, tmp_path: Path) -> None:
    published_in(tmp_path / "nothing", settings)
    answer = await http.get("releases/metadata/timestamp.json", headers=BEARER)
    assert (answer.status_code, answer.json()["code"]) == (404, "releases.unknown_file")
