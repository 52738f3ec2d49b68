"""A repository comes into the platform's storage as devices would take it, on files and on objects alike."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from coterie.core.file_removal import no_removal
from coterie.releases.publishing import (
    NothingPublished,
    OlderRepository,
    OtherRepository,
    Published,
    ReleasesBusy,
    publish,
    refresh_published,
)
from coterie.releases.repository import BadKey, BadRepository, KeyFolder, Repository, read_key
from coterie.releases.served import (
    PARTS,
    UnknownReleaseFile,
    newest_root,
    open_release_file,
    published_metadata,
    release_store,
)
from coterie.storage.interface import StorageUnavailable
from coterie_wire.updating import agent_wheel
from tests.coterie.agent_rollouts.world import NOW, published_in
from tests.object_storage import swift

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WHEEL = b"a wheel"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[swift.Swift]:
    with swift.running(tmp_path_factory.mktemp("swift")) as running:
        yield running


@pytest.fixture(params=["files", "objects"], autouse=True)
def storage(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> None:
    """One that is empty."""
    published_in(tmp_path / "stored", settings)
    if request.param == "objects":
        if not swift.is_installed():
            pytest.skip("no Swift: make test-object-storage installs it")
        published_at(request.getfixturevalue("server").url, settings)


def published_at(url: str, settings: Settings) -> None:
    """Have the platform keep releases in an object storage, in which it has a place of its own."""
    options = {
        "folder": "releases",
        "bucket": swift.BUCKET,
        "prefix": str(uuid4()),
        "endpoint": url,
        "public_endpoint": "",
        "region": swift.REGION,
        "key_id": swift.KEY_ID,
        "secret": swift.SECRET,
    }
    store = {"BACKEND": "coterie.storage.objects.ObjectStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "releases": store}


@pytest.fixture
def keys(tmp_path: Path) -> KeyFolder:
    return KeyFolder(tmp_path / "keys", b"open sesame")


@pytest.fixture
def repository(tmp_path: Path, keys: KeyFolder) -> Repository:
    """With release 1.0."""
    made = Repository(tmp_path / "repository")
    made.create(keys, root_keys=1, threshold=1, now=NOW)
    return released(made, keys, "1.0", NOW)


def released(repository: Repository, keys: KeyFolder, version: str, now: datetime) -> Repository:
    wheel = keys.root / agent_wheel(version)
    wheel.write_bytes(WHEEL)
    repository.add([wheel], keys, now=now)
    return repository


def stored() -> set[str]:
    return {f"{part}/{name}" for part in PARTS for name in release_store().sizes(part)}


def versions() -> list[str]:
    """The releases that the platform passes on."""
    with published_metadata() as published:
        assert published is not None
        return [release.version for release in published.releases()]


def content(part: str, name: str) -> bytes:
    with open_release_file(part, name) as file:
        return file.read()


def test_what_is_published_is_passed_on_as_it_is(repository: Repository) -> None:
    assert newest_root() is None
    assert publish(repository, now=NOW) == Published(files=2, size_bytes=len(WHEEL) + size_of_root(repository))
    assert newest_root() == (repository.metadata / "1.root.json").read_bytes()
    assert versions() == ["1.0"]
    for name in stored():
        assert content(*name.split("/")) == (repository.root / name).read_bytes()
    with pytest.raises(UnknownReleaseFile):
        content("metadata", "2.root.json")
    assert publish(repository, now=NOW) == Published(0, 0), "a second time nothing is new"


def size_of_root(repository: Repository) -> int:
    return (repository.metadata / "1.root.json").stat().st_size


def test_the_former_state_stays_and_the_one_before_goes(repository: Repository, keys: KeyFolder) -> None:
    """So that a device which has begun to read a state reads it to its end, and the storage does not grow."""
    publish(repository, now=NOW)
    first = stored()
    repository.withdraw("1.0", keys, now=NOW + DAY)
    publish(released(repository, keys, "1.1", NOW + DAY), now=NOW + DAY)
    assert versions() == ["1.1"]
    assert first < stored()
    publish(released(repository, keys, "1.2", NOW + DAY), now=NOW + DAY)
    assert first & stored() == {"metadata/1.root.json", "metadata/timestamp.json"}
    assert versions() == ["1.1", "1.2"]


def test_what_is_published_is_kept_fresh(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    online = read_key(keys.root / "online-1.pem", None)
    with pytest.raises(NothingPublished):
        refresh_published(online, now=NOW)
    publish(repository, now=NOW)
    for day in range(1, 4):
        expiries = refresh_published(online, now=NOW + day * DAY)
    assert expiries["timestamp"] - repository.expiries()["timestamp"] == 3 * DAY
    assert len([name for name in stored() if name.endswith(".snapshot.json")]) == 2
    assert versions() == ["1.0"]
    with pytest.raises(BadKey):
        refresh_published(KeyFolder(tmp_path / "other", b"").make("online-1", is_online=True), now=NOW)
    publish(released(repository, keys, "1.1", NOW + 4 * DAY), now=NOW + 4 * DAY)
    assert versions() == ["1.0", "1.1"], "what is signed later is newer, wherever it is signed"


def test_what_devices_would_refuse_is_refused(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    publish(repository, now=NOW)
    before = stored()
    with pytest.raises(BadRepository, match="timestamp has expired"):
        publish(repository, now=NOW + 3 * DAY)

    refresh_published(read_key(keys.root / "online-1.pem", None), now=NOW + DAY)
    with pytest.raises(OlderRepository):
        publish(repository, now=NOW)

    forgotten = Repository(tmp_path / "anew")
    others = KeyFolder(tmp_path / "others", b"open sesame")
    forgotten.create(others, root_keys=1, threshold=1, now=NOW + DAY)
    with pytest.raises(OtherRepository, match=r"1\.root\.json"):
        publish(forgotten, now=NOW + DAY)
    assert before <= stored()


def test_two_copies_that_were_changed_apart_are_told_apart(
    repository: Repository, keys: KeyFolder, tmp_path: Path
) -> None:
    apart = Repository(shutil.copytree(repository.root, tmp_path / "apart"))
    publish(released(repository, keys, "1.1", NOW + DAY), now=NOW + DAY)
    with pytest.raises(OtherRepository, match=r"targets\.json"):
        publish(released(apart, keys, "1.2", NOW + 1.5 * DAY), now=NOW + DAY)


@pytest.mark.parametrize("damaged", ["targets/*", "metadata/*.targets.json", "metadata/*.root.json"])
def test_a_damaged_file_is_not_published(repository: Repository, damaged: str) -> None:
    path = max(repository.root.glob(damaged))
    path.write_bytes(path.read_bytes().replace(b"a", b"b", 1))
    with pytest.raises(BadRepository):
        publish(repository, now=NOW)
    assert not stored()


def test_a_key_that_was_replaced_is_followed(repository: Repository, keys: KeyFolder) -> None:
    publish(repository, now=NOW)
    for role in ("online", "root"):
        repository.rotate(role, keys, now=NOW + DAY)  # type: ignore[arg-type]
    publish(repository, now=NOW + DAY)
    assert newest_root() == (repository.metadata / "3.root.json").read_bytes()
    (repository.metadata / "2.root.json").unlink()
    with pytest.raises(BadRepository, match="root 2 is missing"):
        publish(repository, now=NOW + DAY)


def test_nothing_changes_beside_a_backup(repository: Repository) -> None:
    with no_removal(), pytest.raises(ReleasesBusy):
        publish(repository, now=NOW)
    assert not stored()


def test_a_storage_that_does_not_answer_is_not_called_empty(settings: Settings) -> None:
    published_at("http://127.0.0.1:9", settings)
    with pytest.raises(StorageUnavailable):
        newest_root()
