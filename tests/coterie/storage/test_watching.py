"""A server process knows that the storage is away, and that it is back, without anybody asking for a file."""

import shutil
import socket
import socketserver
import threading
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from coterie.core.away import AWAY, STORAGE
from coterie.core.scheduler_heartbeat import record_pulse
from coterie.storage import objects
from coterie.storage.files import DurableFileSystemStorage
from coterie.storage.interface import StorageUnavailable
from coterie.storage.watching import FOLDER, look


def at(endpoint: str) -> objects.ObjectStorage:
    place = {"folder": "blobs", "bucket": "b", "prefix": "", "region": "r", "key_id": "k", "secret": "s"}
    return objects.ObjectStorage(endpoint=endpoint, public_endpoint="", **place)


@pytest.fixture
def store(tmp_path: Path) -> DurableFileSystemStorage:
    made = DurableFileSystemStorage(location=tmp_path / "state" / "blobs")
    made.save("kept", ContentFile(b"some bytes"))
    return made


def test_a_share_that_goes_is_noticed_and_so_is_its_return(store: DurableFileSystemStorage, tmp_path: Path) -> None:
    look(store)
    assert STORAGE not in AWAY
    state = Path(store.location).parent
    shutil.move(state, tmp_path / "unmounted")
    look(store)
    assert STORAGE in AWAY
    look(store)
    assert STORAGE in AWAY
    shutil.move(tmp_path / "unmounted", state)
    look(store)
    assert STORAGE not in AWAY
    assert not store.sizes(FOLDER)


def test_one_that_is_only_read_from_is_away_until_it_takes_something(
    store: DurableFileSystemStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str, _content: bytes) -> bool:
        raise StorageUnavailable(problem="Read-only file system")

    with monkeypatch.context() as read_only:
        read_only.setattr(store, "create", refuse)
        with pytest.raises(StorageUnavailable):
            store.create("new", b"")
        look(store)
        assert STORAGE in AWAY
    with monkeypatch.context() as full:
        full.setattr(store, "create", lambda _name, _content: (_ for _ in ()).throw(OSError(28, "No space left")))
        look(store)
        assert STORAGE in AWAY
    look(store)
    assert STORAGE not in AWAY


def test_one_that_accepts_connections_and_says_nothing_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "ANSWER_S", 0.2)
    monkeypatch.setattr(objects, "RETRIED_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = at(f"http://127.0.0.1:{silent.getsockname()[1]}")
        look(store)
        assert STORAGE in AWAY
        with pytest.raises(StorageUnavailable, match=r"no answer within 0.2 s, to PUT http://.*/name.$"):
            store.create("name", b"content")


def test_one_that_hangs_up_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "TRIES", 1)

    class HangsUp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangsUp) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with pytest.raises(StorageUnavailable, match=r"the connection ended without an answer|reset by peer"):
                at(f"http://127.0.0.1:{server.server_address[1]}").create("name", b"content")
        finally:
            server.shutdown()


@pytest.mark.django_db
def test_healthz_tells_it() -> None:
    record_pulse(timezone.now())
    StorageUnavailable(problem="connection refused")
    told = Client().get("/healthz").json()
    assert told["status"] == "degraded"
    assert "uploads and downloads get 503" in told["without"][STORAGE]
