"""Files are whole or absent, and what killed writers leave goes."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import storages

from coterie.registry.tasks import tidy
from coterie.storage.files import DRAFTS, DurableFileSystemStorage
from coterie.storage.interface import StorageUnavailable
from tests.coterie.storage.conformance import StoreConformance

DAY_S = 24 * 3600


@pytest.fixture
def storage(tmp_path: Path) -> DurableFileSystemStorage:
    return DurableFileSystemStorage(location=tmp_path)


class Interrupted(File):
    """Content that looks at the disk while it is written, and then fails."""

    def __init__(self, at: Path) -> None:
        super().__init__(None, name="interrupted")
        self.at = at
        self.seen: list[Path] = []

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield b"half"
        self.seen = [path for path in self.at.rglob("*") if path.is_file()]
        raise KeyboardInterrupt


class TestFiles(StoreConformance):
    """The contract."""

    @pytest.fixture
    def store(self, storage: DurableFileSystemStorage) -> DurableFileSystemStorage:
        return storage


def files(directory: Path) -> list[Path]:
    return [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]


def test_a_file_is_written_apart_and_absent_until_it_is_whole(
    storage: DurableFileSystemStorage, tmp_path: Path
) -> None:
    content = Interrupted(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        storage.save("ab/cd/whole", content)
    (draft,) = content.seen
    assert draft.parent == tmp_path / DRAFTS
    assert files(tmp_path) == []
    storage.save("ab/cd/whole", ContentFile(b"all of it"))
    assert files(tmp_path) == [Path("ab/cd/whole")]


class Failing(File):
    """Content during whose writing the file system fails."""

    def __init__(self, number: int) -> None:
        super().__init__(None, name="failing")
        self.number = number

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield b"half"
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_file_system_that_is_away_is_no_fault_of_a_file(
    storage: DurableFileSystemStorage, tmp_path: Path, number: int
) -> None:
    with pytest.raises(StorageUnavailable, match=os.strerror(number)):
        storage.save("ab/cd/whole", Failing(number))
    assert files(tmp_path) == []
    with pytest.raises(OSError, match="No space left") as full:
        storage.save("ab/cd/whole", Failing(errno.ENOSPC))
    assert full.value.errno == errno.ENOSPC


def test_a_place_where_nobody_may_write_is_away() -> None:
    nowhere = DurableFileSystemStorage(location="/sys/nowhere")
    for keep in (lambda: nowhere.create("ab/name", b"content"), lambda: nowhere.save("name", ContentFile(b"content"))):
        with pytest.raises(StorageUnavailable):
            keep()
    assert nowhere.folders() == set() and nowhere.sizes("ab") == {}


def test_a_store_that_was_not_used_yet_is_not_made_below_an_unmounted_share(tmp_path: Path) -> None:
    share = tmp_path / "state"
    share.mkdir()
    used, fresh = (DurableFileSystemStorage(location=share / name) for name in ("blobs", "updates"))
    used.save("name", ContentFile(b"content"))
    share.rename(tmp_path / "elsewhere")
    share.mkdir()
    for attempt in (lambda: fresh.save("name", ContentFile(b"update")), lambda: fresh.sizes("")):
        with pytest.raises(StorageUnavailable, match="blobs is not there any more"):
            attempt()
    assert list(share.iterdir()) == []
    share.rmdir()
    (tmp_path / "elsewhere").rename(share)
    assert fresh.save("name", ContentFile(b"update")) == "name"


def test_a_share_that_is_unmounted_loses_nothing_and_takes_nothing(tmp_path: Path) -> None:
    share, elsewhere = tmp_path / "files", tmp_path / "elsewhere"
    storage = DurableFileSystemStorage(location=share)
    assert storage.sizes("ab") == {} and not share.exists(), "a store that is new is empty"
    storage.save("ab/name", ContentFile(b"content"))
    share.rename(elsewhere)
    for attempt in (
        lambda: storage.open("ab/name"),
        lambda: storage.exists("ab/name"),
        lambda: storage.sizes("ab"),
        lambda: storage.folders(),
        lambda: storage.save("ab/other", ContentFile(b"other")),
        lambda: storage.create("ab/other", b"other"),
        lambda: storage.delete("ab/name"),
        lambda: storage.clear("ab"),
    ):
        with pytest.raises(StorageUnavailable, match="unmounted"):
            attempt()
        assert not share.exists()
    elsewhere.rename(share)
    with storage.open("ab/name") as file:
        assert file.read() == b"content"


WRITES_AND_IS_KILLED = """
import os, signal, sys
from django.conf import settings
settings.configure()
from django.core.files.base import File
from coterie.storage.files import DurableFileSystemStorage
class Killed(File):
    def chunks(self, chunk_size=None):
        yield b"half"
        os.kill(os.getpid(), signal.SIGKILL)
DurableFileSystemStorage(location=sys.argv[1]).save("ab/whole", Killed(None, name="killed"))
"""


def test_a_writer_that_is_killed_leaves_a_draft_which_goes_a_day_later(
    storage: DurableFileSystemStorage, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", WRITES_AND_IS_KILLED, str(tmp_path)], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    (draft,) = files(tmp_path)
    assert draft.parts[0] == DRAFTS
    assert storage.remove_drafts() == 0
    os.utime(tmp_path / draft, times=(time.time() - DAY_S,) * 2)
    assert storage.remove_drafts() == 1
    assert files(tmp_path) == []


def test_what_a_killed_writer_left_goes_and_what_is_being_written_stays() -> None:
    storage = storages["updates"]
    drafts = Path(storage.path(DRAFTS))
    drafts.mkdir(parents=True, exist_ok=True)
    for name, age_s in (("left", DAY_S), ("left by a clock ahead", -DAY_S), ("written", 0)):
        (drafts / name).write_bytes(b"half")
        os.utime(drafts / name, times=(time.time() - age_s,) * 2)
    tidy()
    assert [path.name for path in drafts.iterdir()] == ["written"]
    (drafts / "written").unlink()
