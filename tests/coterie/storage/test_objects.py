"""The same contract on objects, against a server that verifies signatures; and what happens when it fails."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import obstore
import pytest
from django.core.files.base import ContentFile
from pytest_django.fixtures import Settings

from coterie.backup.errors import DamagedBackup
from coterie.backup.index import BackupFile
from coterie.backup.restoring import _Work
from coterie.registry.content import ContentStore
from coterie.registry.verifying import is_sound
from coterie.storage.arrivals import Arrivals, UploadBusy, WrongHash, WrongOffset
from coterie.storage.interface import StorageUnavailable
from coterie.storage.objects import PIECE_BYTES, ObjectStorage
from coterie_learning.random import random_bytes
from tests.coterie.storage.conformance import StoreConformance
from tests.object_storage import swift
from tests.object_storage.broken_line import BrokenLine

pytestmark = pytest.mark.skipif(not swift.is_installed(), reason="no Swift: make test-object-storage installs it")
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[swift.Swift]:
    with swift.running(tmp_path_factory.mktemp("swift")) as running:
        yield running


def options(url: str, **others: str) -> dict[str, str]:
    """Of a store of its own."""
    return {
        "folder": "blobs",
        "bucket": swift.BUCKET,
        "prefix": f"fleets/{uuid4()}",
        "endpoint": url,
        "public_endpoint": "",
        "region": swift.REGION,
        "key_id": swift.KEY_ID,
        "secret": swift.SECRET,
        **others,
    }


@pytest.fixture
def store(server: swift.Swift) -> ObjectStorage:
    return ObjectStorage(**options(server.url))


class TestObjects(StoreConformance):
    """The contract."""

    AT_ONCE = 6  # Swift looks whether the name is there, and then writes


def names(store: ObjectStorage) -> list[str]:
    return [entry["path"] for page in obstore.list(store._store) for entry in page]


def test_who_does_not_know_the_secret_gets_nothing_in_or_out(server: swift.Swift, store: ObjectStorage) -> None:
    given = options(server.url, prefix=store._place.prefix)
    store.save("name", ContentFile(b"content"))
    forger = ObjectStorage(**{**given, "secret": "guessed"})
    for attempt in (
        lambda: forger.create("other", b"x"),
        lambda: forger.open("name").read(),
        lambda: forger.delete("name"),
        lambda: forger.sizes(""),
    ):
        with pytest.raises(StorageUnavailable):
            attempt()
    assert names(store) == ["name"]


def test_a_bucket_that_is_not_there_is_not_an_empty_one(server: swift.Swift) -> None:
    nowhere = ObjectStorage(**options(server.url, bucket="misspelt"))
    for attempt in (
        lambda: nowhere.exists("name"),
        lambda: nowhere.open("name").read(),
        lambda: nowhere.save("name", ContentFile(b"content")),
        lambda: nowhere.create("name", b"content"),
        lambda: nowhere.delete("name"),
        lambda: nowhere.sizes(""),
        lambda: nowhere.clear(""),
    ):
        with pytest.raises(StorageUnavailable, match=r"NoSuchBucket"):
            attempt()


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"secret": "guessed"}, r"SignatureDoesNotMatch\), to PUT http://.*/name"),
        ({"region": "elsewhere"}, "expecting 'us-east-1'"),
        ({"endpoint": "http://127.0.0.1:1"}, "Connection refused, to PUT http://127.0.0.1:1/"),
        ({"endpoint": "http://objects.invalid"}, "lookup"),
    ],
)
def test_the_cause_is_told_in_one_line(server: swift.Swift, wrong: dict[str, str], cause: str) -> None:
    store = ObjectStorage(**{**options(server.url), **wrong})
    with pytest.raises(StorageUnavailable, match=cause) as caught:
        store.create("name", b"content")
    assert "\n" not in str(caught.value) and "<" not in str(caught.value)


def test_a_signed_url_reads_one_name_for_a_while(store: ObjectStorage) -> None:
    store.save("name", ContentFile(b"content"))
    store.save("other", ContentFile(b"secret"))
    url = store.signed_url("name", MINUTE)
    assert url is not None
    assert httpx.get(url).content == b"content"
    ranged = httpx.get(url, headers={"Range": "bytes=3-"})
    assert (ranged.status_code, ranged.content) == (206, b"tent")
    assert httpx.get(url.replace("/name?", "/other?")).status_code == 403
    assert httpx.get(url[:-1] + ("0" if url[-1] != "0" else "1")).status_code == 403
    assert httpx.put(url, content=b"x").status_code == 403


def test_devices_may_know_the_store_by_another_name(server: swift.Swift) -> None:
    store = ObjectStorage(**options(server.url, public_endpoint="https://objects.fleet.example"))
    url = store.signed_url("name", MINUTE)
    assert url is not None and url.startswith("https://objects.fleet.example/coterie/fleets/")


def test_two_platforms_in_one_bucket_do_not_meet(server: swift.Swift) -> None:
    one, other = (ObjectStorage(**options(server.url)) for _ in range(2))
    one.create("name", b"x")
    assert not other.exists("name") and other.sizes("") == {}
    other.clear("")
    assert one.exists("name")


@pytest.fixture
def line(server: swift.Swift) -> Iterator[BrokenLine]:
    with BrokenLine(server.url) as line:
        yield line


@pytest.fixture
def far(line: BrokenLine) -> ObjectStorage:
    return ObjectStorage(**options(line.url))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.storage.objects.ANSWER_S", 1)
    monkeypatch.setattr("coterie.storage.objects.RETRIED_S", 2)


@pytest.mark.parametrize("fault", ["error", "cut", "silence"])
def test_one_fault_is_not_noticed(fault: str, far: ObjectStorage, line: BrokenLine) -> None:
    content = random_bytes(PIECE_BYTES + 100, 1)
    for name, body in (("small", content[:1000]), ("large", content)):
        line.break_next(fault)
        assert far.save(name, ContentFile(body)) == name
        line.break_next(fault)
        with far.open(name) as file:
            line.break_next(fault)
            assert file.read() == body
    line.break_next(fault)
    assert far.sizes("") == {"small": 1000, "large": len(content)}


@pytest.mark.parametrize("fault", ["error", "cut", "silence"])
def test_a_store_that_fails_is_neither_empty_nor_damaged(fault: str, far: ObjectStorage, line: BrokenLine) -> None:
    far.save("name", ContentFile(b"content"))
    line.break_all(fault)
    for attempt in (
        lambda: far.exists("name"),
        lambda: far.open("name").read(),
        lambda: far.save("name", ContentFile(b"other")),
        lambda: far.save("large", ContentFile(bytes(PIECE_BYTES + 1))),
        lambda: far.create("another", b"x"),
        lambda: far.sizes(""),
    ):
        with pytest.raises(StorageUnavailable) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    line.mend()
    if fault != "cut":  # which keeps, and does not tell
        assert names(far) == ["name"]
        with far.open("name") as file:
            assert file.read() == b"content"


@pytest.fixture
def stored(settings: Settings, line: BrokenLine) -> None:
    """The platform's blobs and arriving updates lie behind the line."""
    settings.STORAGES = {
        **settings.STORAGES,
        **{
            alias: {"BACKEND": "coterie.storage.objects.ObjectStorage", "OPTIONS": options(line.url, folder=alias)}
            for alias in ("default", "uploads")
        },
    }


@pytest.mark.usefixtures("stored")
def test_what_is_damaged_is_found_and_what_cannot_be_reached_is_not_called_so(line: BrokenLine, tmp_path: Path) -> None:
    blobs = ContentStore("default")
    blob = blobs.put_bytes(b"content")
    assert is_sound(blobs, blob.sha256)
    line.break_all("error")
    with pytest.raises(StorageUnavailable):
        is_sound(blobs, blob.sha256)
    line.mend()
    assert blobs.local_path(blob.sha256, tmp_path).read_bytes() == b"content"
    blobs._store.save(blobs._name(blob.sha256), ContentFile(b"changed"))
    assert not is_sound(blobs, blob.sha256)
    with pytest.raises(FileNotFoundError):
        blobs.local_path(blob.sha256, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("stored")
def test_an_upload_goes_on_through_another_process_and_leaves_nothing_behind(line: BrokenLine) -> None:
    uploads, key, content = Arrivals("uploads"), uuid4(), random_bytes(1000, 2)
    sha256 = hashlib.sha256(content).hexdigest()
    first = uploads.target(key, sha256=sha256, offset=0, size_bytes=1000)
    first.write(0, content[:300])
    line.break_all("error")
    with pytest.raises(StorageUnavailable):
        first.write(300, content[300:500])
    line.mend()
    assert uploads.arrived_bytes(key, sha256) == 300
    with pytest.raises(WrongOffset):
        uploads.target(key, sha256=sha256, offset=500, size_bytes=1000)
    second = Arrivals("uploads").target(key, sha256=sha256, offset=300, size_bytes=1000)
    second.write(300, content[300:600])
    with pytest.raises(UploadBusy):
        first.write(300, content[300:500])
    second.write(600, content[600:])
    with uploads.verified(key, sha256=sha256) as file:
        assert file.read() == content
    uploads.discard(key)
    assert uploads.keys() == set() and uploads.arrived_bytes(key, sha256) == 0


@pytest.mark.usefixtures("stored")
def test_a_backup_of_files_is_restored_to_objects(tmp_path: Path) -> None:
    backup, state, content = tmp_path / "backup", tmp_path / "state", b"a model"
    sha256 = hashlib.sha256(content).hexdigest()
    place = ContentStore("default").place(sha256)
    for directory in (backup / place, state):
        directory.parent.mkdir(parents=True, exist_ok=True)
    (backup / place).write_bytes(content)
    state.mkdir()
    _Work(backup, state, lambda _progress: None, len(content)).bring(BackupFile(place, sha256, len(content)), place)
    with ContentStore("default").open(sha256) as file:
        assert file.read() == content
    assert list(state.iterdir()) == []
    (backup / place).write_bytes(b"another")
    with pytest.raises(DamagedBackup):
        _Work(backup, state, lambda _progress: None, 7).bring(BackupFile(place, sha256, len(content)), place)


@pytest.mark.usefixtures("stored")
def test_another_content_under_one_key_is_not_mixed_in() -> None:
    uploads, key = Arrivals("uploads"), uuid4()
    one, other = hashlib.sha256(b"one, late").hexdigest(), hashlib.sha256(b"other").hexdigest()
    uploads.target(key, sha256=other, offset=0, size_bytes=5).write(0, b"other")
    uploads.target(key, sha256=one, offset=0, size_bytes=9).write(0, b"one")
    assert uploads.read(key, sha256=other) == b"other"
    with pytest.raises(WrongHash):
        uploads.read(key, sha256=one)
