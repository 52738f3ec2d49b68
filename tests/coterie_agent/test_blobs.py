"""Downloads: resumed, verified, cleaned up."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_wire.bundle import BlobRef

CONTENT = bytes(range(200))
REF = BlobRef(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


class Server:
    """Serves CONTENT in pieces of 50 bytes and breaks off after `pieces` of them."""

    def __init__(self, content: bytes = CONTENT, pieces: int = 100) -> None:
        self.content, self.pieces = content, pieces
        self.offsets: list[int] = []

    def __call__(self, sha256: str, offset: int) -> Iterator[bytes]:
        self.offsets.append(offset)
        for start in range(offset, len(self.content), 50)[: self.pieces]:
            yield self.content[start : start + 50]


def go_on() -> bool:
    return False


def test_a_download_resumes_where_it_broke(tmp_path: Path) -> None:
    blobs, server = BlobCache(tmp_path), Server(pieces=2)
    with pytest.raises(Unreachable, match="100 of 200"):
        blobs.fetch(REF, server, stop=go_on)
    assert blobs.fetch(REF, server, stop=go_on)
    assert server.offsets == [0, 100]
    assert blobs.read(REF) == CONTENT


def test_a_stopped_download_keeps_what_arrived(tmp_path: Path) -> None:
    blobs, server = BlobCache(tmp_path), Server()
    assert not blobs.fetch(REF, server, stop=lambda: True)
    assert blobs.fetch(REF, server, stop=go_on)
    assert server.offsets == [0, 50]


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    blobs, server = BlobCache(tmp_path), Server()
    assert blobs.fetch(REF, server, stop=go_on)
    assert blobs.fetch(REF, server, stop=go_on)
    assert server.offsets == [0]


def test_what_a_loss_of_power_cut_short_is_fetched_again(tmp_path: Path) -> None:
    blobs, server = BlobCache(tmp_path), Server()
    assert blobs.fetch(REF, server, stop=go_on)
    (tmp_path / REF.sha256).write_bytes(b"")
    assert not blobs.has(REF)
    assert blobs.fetch(REF, server, stop=go_on)
    assert blobs.read(REF) == CONTENT


@pytest.mark.parametrize("content", [bytes(200), CONTENT + b"more"])
def test_another_content_is_refused_and_removed(tmp_path: Path, content: bytes) -> None:
    blobs = BlobCache(tmp_path)
    with pytest.raises(AgentError) as caught:
        blobs.fetch(REF, Server(content), stop=go_on)
    assert caught.value.code == "bundle.wrong_hash"
    assert blobs.fetch(REF, Server(), stop=go_on)


def test_damage_on_the_disk_is_found(tmp_path: Path) -> None:
    blobs = BlobCache(tmp_path)
    blobs.fetch(REF, Server(), stop=go_on)
    (tmp_path / REF.sha256).write_bytes(bytes(200))
    with pytest.raises(AgentError) as caught:
        blobs.read(REF)
    assert caught.value.code == "bundle.wrong_hash"
    assert not blobs.has(REF)


def test_a_blob_that_cannot_fit_is_not_begun(tmp_path: Path) -> None:
    server = Server()
    with pytest.raises(AgentError) as caught:
        BlobCache(tmp_path).fetch(BlobRef("0" * 64, 2**60), server, stop=go_on)
    assert caught.value.code == "bundle.no_space"
    assert not server.offsets


def test_only_what_is_needed_stays(tmp_path: Path) -> None:
    blobs = BlobCache(tmp_path)
    blobs.fetch(REF, Server(), stop=go_on)
    (tmp_path / "old").write_bytes(b"")
    blobs.keep_only([REF])
    assert [path.name for path in tmp_path.iterdir()] == [REF.sha256]
