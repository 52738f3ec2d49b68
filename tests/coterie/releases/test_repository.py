"""The operator's repository: what is signed by which key, and what is refused."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tuf.api.metadata import Metadata, Root

from coterie.releases.repository import BadKey, BadRelease, BadRepository, KeyFolder, Repository, number_of, read_key
from coterie_wire.updating import agent_wheel

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def keys(tmp_path: Path) -> KeyFolder:
    return KeyFolder(tmp_path / "keys", b"open sesame")


@pytest.fixture
def repository(tmp_path: Path, keys: KeyFolder) -> Repository:
    made = Repository(tmp_path / "repository")
    made.create(keys, root_keys=3, threshold=2, now=NOW)
    return made


def wheel(folder: Path, name: str, content: bytes = b"a wheel") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def newest_root(repository: Repository) -> Metadata[Root]:
    return Metadata[Root].from_file(str(max(repository.metadata.glob("*.root.json"), key=number_of)))


def test_a_release_lists_what_it_needs(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    other = wheel(tmp_path, "numpy-3.0.0-cp311-cp311-manylinux_2_28_aarch64.whl", b"numbers")
    repository.add([other, wheel(tmp_path, agent_wheel("0.10.0"))], keys, now=NOW)
    repository.add([other, wheel(tmp_path, agent_wheel("0.9.0"), b"before")], keys, now=NOW)
    older, newer = repository.releases()
    assert (older.version, newer.version) == ("0.9.0", "0.10.0")
    assert newer.wheels == (agent_wheel("0.10.0"), other.name)
    assert newer.size_bytes == len(b"a wheel") + len(b"numbers")
    assert len(list(repository.targets.iterdir())) == 3


def test_what_is_withdrawn_is_offered_no_more(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    other = wheel(tmp_path, "numpy-3.0.0-cp311-cp311-manylinux_2_28_aarch64.whl")
    repository.add([other, wheel(tmp_path, agent_wheel("1.0"))], keys, now=NOW)
    repository.withdraw("1.0", keys, now=NOW)
    assert not repository.releases()
    with pytest.raises(BadRelease):
        repository.withdraw("1.0", keys, now=NOW)


def test_a_name_stands_for_one_content(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    repository.add([wheel(tmp_path, agent_wheel("1.0"))], keys, now=NOW)
    with pytest.raises(BadRelease, match="another version"):
        repository.add([wheel(tmp_path, agent_wheel("1.0"), b"changed")], keys, now=NOW)


@pytest.mark.parametrize("name", ["coterie_agent-1.0.tar.gz", "numpy-3.0.0-py3-none-any.whl", "coterie_agent-x.whl"])
def test_a_release_has_one_agent(repository: Repository, keys: KeyFolder, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRelease):
        repository.add([wheel(tmp_path, name)], keys, now=NOW)


def test_offline_keys_are_encrypted_and_the_online_key_adds_nothing(
    repository: Repository, keys: KeyFolder, tmp_path: Path
) -> None:
    for name in ("root-1", "root-2", "root-3", "targets-1"):
        path = keys.root / f"{name}.pem"
        assert b"ENCRYPTED" in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
        with pytest.raises(BadKey):
            read_key(path, b"wrong")
    online = read_key(keys.root / "online-1.pem", None)
    root = newest_root(repository).signed
    assert root.roles["snapshot"].keyids == root.roles["timestamp"].keyids == [online.public_key.keyid]
    assert online.public_key.keyid not in (*root.roles["root"].keyids, *root.roles["targets"].keyids)
    assert root.roles["root"].threshold == 2


def test_refreshing_prolongs_what_the_online_key_signs(repository: Repository, keys: KeyFolder) -> None:
    before = repository.expiries()
    repository.refresh(read_key(keys.root / "online-1.pem", None), now=NOW + timedelta(days=1))
    after = repository.expiries()
    assert after["timestamp"] - before["timestamp"] == after["snapshot"] - before["snapshot"] == timedelta(days=1)
    assert (after["root"], after["targets"]) == (before["root"], before["targets"])


def test_only_the_named_online_key_refreshes(repository: Repository, tmp_path: Path) -> None:
    other = KeyFolder(tmp_path / "other", b"").make("online-1", is_online=True)
    with pytest.raises(BadKey):
        repository.refresh(other, now=NOW)


@pytest.mark.parametrize("role", ["root", "targets", "online"])
def test_a_key_that_is_replaced_signs_no_more(
    repository: Repository, keys: KeyFolder, tmp_path: Path, role: str
) -> None:
    first = newest_root(repository)
    repository.rotate(role, keys, now=NOW)  # type: ignore[arg-type]
    second = newest_root(repository)
    first.verify_delegate("root", second)
    second.verify_delegate("root", second)
    name = "timestamp" if role == "online" else role
    former, following = first.signed.roles[name].keyids, second.signed.roles[name].keyids
    assert len(set(former) - set(following)) == 1
    assert len(following) == len(former)
    repository.add([wheel(tmp_path, agent_wheel("1.0"))], keys, now=NOW)
    assert [release.version for release in repository.releases()] == ["1.0"]


def test_too_few_root_keys_change_nothing(repository: Repository, keys: KeyFolder) -> None:
    for name in ("root-1", "root-3"):
        (keys.root / f"{name}.pem").unlink()
    before = sorted(repository.metadata.iterdir())
    with pytest.raises(BadKey, match="sign together"):
        repository.renew(keys, now=NOW)
    assert sorted(repository.metadata.iterdir()) == before


def test_renewing_keeps_the_releases(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    repository.add([wheel(tmp_path, agent_wheel("1.0"))], keys, now=NOW)
    repository.renew(keys, now=NOW + timedelta(days=100))
    assert repository.expiries()["root"] == NOW + timedelta(days=465)
    assert [release.version for release in repository.releases()] == ["1.0"]


def test_a_repository_is_begun_once(repository: Repository, keys: KeyFolder, tmp_path: Path) -> None:
    with pytest.raises(BadRepository):
        repository.create(keys, root_keys=1, threshold=1, now=NOW)
    with pytest.raises(BadRepository):
        Repository(tmp_path / "none").releases()
