"""What a device takes from a repository of releases; each attack that TUF names is refused with a code of its own."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coterie.releases.repository import read_key
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_agent.updating.fetching import describe_release, fetch_release
from coterie_agent.updating.offer import Offer
from coterie_wire.updating import agent_wheel
from tests.coterie_agent.updating.signed import Signed, Way


class Device:
    """What it trusts, and has fetched."""

    def __init__(self, root: Path, signed: Signed) -> None:
        self.folder = root / "device"
        self.way = Way(signed.repository.root)
        self.root = signed.root()

    def fetch(self, version: str = "9.0.0") -> list[Path]:
        return fetch_release(version, link=self.way, root=self.root, folder=self.folder)

    def describe(self, version: str = "9.0.0") -> Offer:
        return describe_release(version, link=self.way, root=self.root, folder=self.folder)

    def refusal(self, version: str = "9.0.0") -> str:
        """The code with which it refuses the release."""
        with pytest.raises(AgentError) as refused:
            self.fetch(version)
        return refused.value.code


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    return Signed(tmp_path / "operator")


@pytest.fixture
def device(tmp_path: Path, signed: Signed) -> Device:
    return Device(tmp_path, signed)


def test_a_release_is_fetched_once(device: Device) -> None:
    (wheel,) = device.fetch()
    assert (wheel.name, wheel.read_bytes()) == (agent_wheel("9.0.0"), b"a wheel")
    device.way.asked.clear()
    device.fetch()
    assert not [path for path in device.way.asked if path.endswith(".whl")]


def test_what_is_offered_is_described_as_it_was_signed(signed: Signed, device: Device) -> None:
    from tuf.api.metadata import Metadata, Root

    signed.add("9.1", b"newer", notes="trains in half the time")
    offer = device.describe("9.1")
    assert (offer.version, offer.notes, offer.size_bytes) == ("9.1", "trains in half the time", len(b"newer"))
    trusted = Metadata[Root].from_bytes(device.root).signed.roles["targets"]
    assert (list(offer.signed_by), offer.signatures_needed) == (trusted.keyids, trusted.threshold)
    assert not [path for path in device.way.asked if path.endswith(".whl")], "before the owner's word none is fetched"


def test_what_is_described_otherwise_than_signed_is_refused(tmp_path: Path, device: Device) -> None:
    device.way.root = Signed(tmp_path / "other", notes="trust me").repository.root
    with pytest.raises(AgentError) as refused:
        device.describe()
    assert refused.value.code == "updates.wrong_key"


def test_only_wheels_for_this_machine_are_fetched(signed: Signed, device: Device, tmp_path: Path) -> None:
    from platform import machine

    names = [f"one-1-cp311-cp311-linux_{machine()}.whl", "two-1-cp311-cp311-linux_other.whl", agent_wheel("9.1")]
    wheels = [tmp_path / name for name in names]
    for wheel in wheels:
        wheel.write_bytes(wheel.name.encode())
    signed.repository.add(wheels, signed.keys, now=datetime.now(UTC))
    assert {path.name for path in device.fetch("9.1")} == {names[0], names[2]}


def test_a_device_follows_keys_that_were_replaced(signed: Signed, device: Device) -> None:
    for role in ("root", "targets", "online"):
        signed.repository.rotate(role, signed.keys, now=datetime.now(UTC))  # type: ignore[arg-type]
    assert device.fetch()


def test_what_may_pass_is_tried_again(device: Device) -> None:
    device.way.is_away = True
    with pytest.raises(Unreachable):
        device.fetch()
    device.way.is_away = False
    assert device.fetch()


def test_an_unknown_release_is_refused(device: Device) -> None:
    assert device.refusal("9.9.9") == "updates.unknown_release"


def test_rollback_is_refused(signed: Signed, device: Device, tmp_path: Path) -> None:
    before = shutil.copytree(signed.repository.root, tmp_path / "before")
    signed.add("9.1", b"newer")
    device.fetch("9.1")
    device.way.root = before
    assert device.refusal() == "updates.older_metadata"


def test_freeze_is_refused(tmp_path: Path) -> None:
    signed = Signed(tmp_path / "operator", now=datetime.now(UTC) - timedelta(days=3))
    assert Device(tmp_path, signed).refusal() == "updates.expired"


def test_mix_and_match_is_refused(signed: Signed, device: Device, tmp_path: Path) -> None:
    other = Signed(tmp_path / "other")
    shutil.copy(other.repository.metadata / "2.targets.json", signed.repository.metadata / "2.targets.json")
    assert device.refusal() == "updates.wrong_key"


def test_an_older_list_under_the_name_of_the_newest_is_refused(signed: Signed, device: Device) -> None:
    metadata = signed.repository.metadata
    shutil.copy(metadata / "1.targets.json", metadata / "2.targets.json")
    assert device.refusal() == "updates.older_metadata"


def test_a_wrong_key_is_refused(tmp_path: Path, device: Device) -> None:
    device.way.root = Signed(tmp_path / "other").repository.root
    assert device.refusal() == "updates.wrong_key"


def test_the_online_key_cannot_add_a_release(tmp_path: Path, signed: Signed, device: Device) -> None:
    """Whoever has it signs a list of targets of his own, and a snapshot that names it."""
    from tuf.api.metadata import Metadata, Targets

    path = signed.repository.metadata / "2.targets.json"
    targets = Metadata[Targets].from_file(str(path))
    online = read_key(signed.keys.root / "online-1.pem", None)
    targets.signatures.clear()
    targets.sign(online)
    targets.to_file(str(path))
    signed.repository.refresh(online, now=datetime.now(UTC))
    assert device.refusal() == "updates.wrong_key"


def test_a_larger_file_than_stated_is_refused(device: Device) -> None:
    device.way.instead = {".whl": b"a wheel, and more"}
    assert device.refusal() == "updates.too_large"


@pytest.mark.parametrize("content", [b"a whe", b"another", b""])
def test_a_truncated_or_altered_file_is_refused(device: Device, content: bytes) -> None:
    device.way.instead = {".whl": content}
    assert device.refusal() == "updates.altered"
    assert not list(device.folder.glob("wheels/*.whl"))


def test_endless_metadata_is_refused(device: Device) -> None:
    device.way.instead = {"timestamp.json": b" " * (1 << 20)}
    assert device.refusal() == "updates.too_large"


@pytest.mark.parametrize("content", [b"<html>", b"{}", b"\xff"])
def test_what_is_no_metadata_is_refused(device: Device, content: bytes) -> None:
    device.way.instead = {"timestamp.json": content}
    assert device.refusal() == "updates.malformed"


def test_after_an_attack_the_true_repository_is_taken(device: Device) -> None:
    device.way.instead = {".whl": b"another"}
    device.refusal()
    device.way.instead = {}
    assert device.fetch()
