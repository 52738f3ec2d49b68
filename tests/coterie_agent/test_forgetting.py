"""The owner has the device forgotten: asked under one number, however often it is killed, and wiped here."""

import json
from pathlib import Path

import pytest

from coterie_agent import forgetting
from coterie_agent.cli import main
from coterie_agent.errors import Exit
from coterie_agent.home import Home, load_peer_key
from coterie_agent.store.identity import IdentityStore
from coterie_agent.store.opened import open_store
from coterie_wire.owning import Forget
from tests.coterie_agent.fake_platform import TOKEN, Denied, FakePlatform


class Device:
    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._capsys = home, capsys

    def run(self, *arguments: str) -> tuple[int, dict]:
        with pytest.raises(SystemExit) as ended:
            main(["--home", str(self.home), *arguments, "--json"])
        return int(ended.value.code or 0), json.loads(self._capsys.readouterr().out)


@pytest.fixture
def device(tmp_path: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]) -> Device:
    found = Device(tmp_path, capsys)
    assert found.run("join", platform.url, TOKEN, "--yes")[0] == 0
    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert found.run("ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return found


def test_what_is_the_platforms_goes_and_the_receipt_and_samples_stay(device: Device, platform: FakePlatform) -> None:
    known_as = load_peer_key(Home(device.home))
    code, told = device.run("forget", "--yes")
    assert (code, told["samples"], told["receipt"]["holds"][0]["version"]) == (0, 1, 3)
    assert platform.forgotten == {told["receipt"]["receipt"]}
    assert device.run("status")[0] == Exit.NOT_JOINED
    assert not Home(device.home).credential.exists()
    assert load_peer_key(Home(device.home)) != known_as, "other devices do not know it again"
    again = device.run("forget")
    assert again == (0, told), "how far it is can be asked later"


def test_killed_before_it_wiped_it_asks_under_the_same_number(
    device: Device, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(_: IdentityStore) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(IdentityStore, "delete", killed)
        with pytest.raises(Killed):
            main(["--home", str(device.home), "forget", "--yes"])

    def ended(path: str) -> None:
        if path.endswith("/forget"):
            raise Denied(401, "fleet.left", "This device has left the fleet.")

    platform.fault = ended
    code, told = device.run("forget")
    assert (code, platform.forgotten) == (0, {told["receipt"]["receipt"]})
    assert len([message for message in platform.received if isinstance(message, Forget)]) == 1


def test_a_credential_that_ended_otherwise_says_who_can_forget_it(device: Device, platform: FakePlatform) -> None:
    def revoked(path: str) -> None:
        if path.endswith("/forget"):
            raise Denied(401, "fleet.revoked", "An operator has revoked this device.")

    platform.fault = revoked
    code, told = device.run("forget", "--yes")
    assert (code, told["code"]) == (Exit.REVOKED, "agent.credential_ended")
    assert "d1" in told["detail"]
    assert device.run("status")[0] == 0, "nothing was removed"
    assert device.run("forget", "--force", "--yes")[1]["receipt"] is None
    assert device.run("status")[0] == Exit.NOT_JOINED
    code, told = device.run("forget")
    assert (code, told["code"]) == (Exit.NOT_JOINED, "agent.not_joined")


def test_without_the_platform_nothing_is_removed(device: Device, platform: FakePlatform) -> None:
    platform.close()
    assert device.run("forget", "--yes")[0] == Exit.UNREACHABLE
    kept = forgetting.load_receipt(Home(device.home))
    assert kept is not None and kept.url == platform.url
    with open_store(Home(device.home)) as store:
        assert store.identity.find() is not None


@pytest.mark.parametrize("is_away", [False, True])
def test_a_device_that_leaves_instead_keeps_no_receipt_that_the_platform_never_had(
    device: Device, platform: FakePlatform, is_away: bool
) -> None:
    def unheard(path: str) -> None:
        if is_away or path.endswith("/forget"):
            raise Denied(503, "gateway.away", "It is away.")

    platform.fault = unheard
    assert device.run("forget", "--yes")[0] != 0
    assert device.run("leave", "--yes", *(["--force"] if is_away else []))[0] == 0
    assert device.run("forget")[1]["code"] == "agent.not_joined"


def test_a_device_that_was_forgotten_before_it_heard_of_it_keeps_the_receipt_when_it_leaves(
    device: Device, platform: FakePlatform
) -> None:
    def answers(path: str) -> None:
        if path.endswith("/forget"):
            raise Denied(503, "gateway.away", "Its answer was lost.")
        if path.endswith("/leave"):
            raise Denied(401, "fleet.left", "This device has left the fleet.")

    platform.fault = answers
    assert device.run("forget", "--yes")[0] != 0
    kept = forgetting.load_receipt(Home(device.home))
    assert kept is not None
    platform.forgotten.add(kept.receipt)
    assert device.run("leave", "--yes")[0] == 0
    code, told = device.run("forget")
    assert (code, platform.forgotten) == (0, {told["receipt"]["receipt"]})


def test_a_damaged_receipt_says_so(device: Device) -> None:
    Home(device.home).receipt.write_bytes(b"{")
    code, told = device.run("forget")
    assert (code, told["code"]) == (Exit.BAD_DATA, "agent.bad_receipt")


def test_joining_again_begins_a_new_account(device: Device, platform: FakePlatform) -> None:
    first = device.run("forget", "--yes")[1]["receipt"]["receipt"]
    assert device.run("join", platform.url, TOKEN, "--yes")[0] == 0
    assert not Home(device.home).receipt.exists()
    assert device.run("forget", "--yes")[1]["receipt"]["receipt"] != first
