"""Replacing the signing key: whatever is killed, and however long a device was away, it follows or is named."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from coterie.audit.models import Entry
from coterie.core.identity import signing_key, signing_key_file, verify_key
from coterie.fleet.models import Device, SigningKeyChange
from coterie.fleet.services import EnrolledDevice
from coterie.fleet.signing_keys import draft_of_next_key, rotate_signing_key, use_written_key
from coterie.repairs.faults import find_faults
from coterie.rounds.directives import check_in
from coterie_learning.kind_names import own_kinds
from coterie_wire.bundle import verify_key_of
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.platform_keys import PlatformKeys
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db
Enrol = Callable[..., EnrolledDevice]
OLD_AGENT = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.2.0")


@pytest.fixture(autouse=True)
def _own_state(settings: Settings, tmp_path: Path) -> None:
    settings.STATE, settings.SIGNING_KEY = tmp_path, ""


def saying(keys: PlatformKeys | None) -> CheckIn:
    capabilities = Capabilities(
        cores=1, memory_bytes=1, machine="any", agent="0.3.0", kinds=own_kinds(), platform_key=keys and keys.current
    )
    return CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=capabilities)


def rotate(*arguments: str) -> str:
    call_command("rotate_signing_key", *arguments)
    return verify_key().hex()


def follow(device: Device, keys: PlatformKeys, now: datetime) -> PlatformKeys:
    return keys.follow(check_in(device=device, message=saying(keys), now=now).next_keys)


def test_a_device_that_missed_several_keys_follows_to_the_last(enrol: Enrol, now: datetime) -> None:
    device, _ = enrol()
    keys = PlatformKeys(verify_key())
    assert check_in(device=device, message=saying(keys), now=now).next_keys == ()
    for _ in range(3):
        rotate()
    followed = follow(device, keys, now)
    assert followed.current == verify_key()
    assert check_in(device=device, message=saying(followed), now=now).next_keys == ()
    assert Device.objects.get().trusted_key == verify_key().hex()
    assert Entry.objects.filter(action="fleet.rotate_signing_key").count() == 3


def test_devices_that_cannot_follow_are_named_and_the_others_are_not(enrol: Enrol, now: datetime) -> None:
    able, _ = enrol()
    check_in(device=able, message=saying(PlatformKeys(verify_key())), now=now)
    rotate()
    assert "signing_key_changed" not in {repair.key for repair in find_faults(now=now)}
    old, _ = enrol()
    check_in(device=old, message=CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=OLD_AGENT), now=now)
    rotate()
    found = {repair.key: repair for repair in find_faults(now=now)}["signing_key_changed"]
    assert found.subject_id == str(old.pk)
    assert found.advice.startswith("Have these devices leave and join again"), "the former key may have leaked"


def test_a_device_that_was_never_there_is_not_told_to_join_again(enrol: Enrol, now: datetime) -> None:
    device, _ = enrol()
    rotate()
    assert "signing_key_changed" not in {repair.key for repair in find_faults(now=now)}
    message = CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=OLD_AGENT)
    check_in(device=device, message=message, now=now)
    assert "signing_key_changed" in {repair.key for repair in find_faults(now=now)}


@pytest.mark.parametrize("is_recorded", [False, True])
def test_killed_between_the_draft_and_its_use_one_key_or_the_other_signs(is_recorded: bool, now: datetime) -> None:
    before = verify_key()
    change = rotate_signing_key(write_to=draft_of_next_key(), is_leaked=False, now=now)
    if not is_recorded:
        change.delete()
    assert verify_key() == before
    assert use_written_key() is is_recorded
    assert verify_key().hex() == (change.key if is_recorded else before.hex())
    assert not draft_of_next_key().exists()
    assert use_written_key() is False


def test_a_leaked_key_is_not_trusted_any_more(enrol: Enrol, now: datetime) -> None:
    device, _ = enrol()
    keys = PlatformKeys(verify_key())
    check_in(device=device, message=saying(keys), now=now)
    rotate("--leaked")
    assert follow(device, keys, now).trusted(at=0) == (verify_key(),)


class TestAKeyOfTheEnvironment:
    @pytest.fixture(autouse=True)
    def _configured(self, settings: Settings) -> None:
        settings.SIGNING_KEY = (bytes([5]) * 32).hex()

    def test_is_replaced_when_the_environment_has_the_next(
        self, enrol: Enrol, now: datetime, settings: Settings, tmp_path: Path
    ) -> None:
        device, _ = enrol()
        keys = PlatformKeys(verify_key())
        check_in(device=device, message=saying(keys), now=now)
        target = tmp_path / "next"
        rotate("--to", str(target))
        assert follow(device, keys, now) == keys, "no process signs with it yet"
        settings.SIGNING_KEY = target.read_text()
        assert signing_key() == bytes.fromhex(target.read_text())
        assert follow(device, keys, now).current == verify_key()
        assert target.stat().st_mode & 0o777 == 0o600
        assert not signing_key_file().exists()

    def test_one_that_was_lost_before_its_use_is_made_again(self, now: datetime, tmp_path: Path) -> None:
        for name in ("lost", "kept"):
            rotate("--to", str(tmp_path / name))
        assert SigningKeyChange.objects.get().key == verify_key_of(bytes.fromhex((tmp_path / "kept").read_text())).hex()

    def test_one_that_devices_trust_already_is_not(
        self, enrol: Enrol, now: datetime, settings: Settings, tmp_path: Path
    ) -> None:
        device, _ = enrol()
        rotate("--to", str(tmp_path / "next"))
        Device.objects.filter(pk=device.pk).update(trusted_key=SigningKeyChange.objects.get().key)
        with pytest.raises(CommandError, match=r"fleet\.next_key_in_use"):
            rotate("--to", str(tmp_path / "another"))
        assert not (tmp_path / "another").exists()

    @pytest.mark.parametrize("arguments", [[], ["--to", "/dev/null"], ["--to", "/proc/none/key"]])
    def test_needs_a_new_file(self, arguments: list[str]) -> None:
        with pytest.raises(CommandError):
            rotate(*arguments)
        assert not SigningKeyChange.objects.exists()
