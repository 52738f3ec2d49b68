from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from coterie.core.credentials import new_secret
from coterie.core.errors import CoterieError
from coterie.core.names import BadName
from coterie.fleet.models import Device
from coterie.fleet.presence import settle
from coterie.fleet.selectors import (
    CredentialUnknown,
    DeviceLeft,
    DeviceRevoked,
    device_of_credential,
    present_devices,
    ready_devices,
    why_not_ready,
)
from coterie.fleet.services import (
    BadTag,
    EnrolledDevice,
    TokenExpired,
    TokenOverAlready,
    TokenRevoked,
    TokenUnknown,
    TokenUsedUp,
    change_device,
    create_enrolment_token,
    enrol_device,
    leave_fleet,
    revoke_device,
    revoke_enrolment_token,
)
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Capabilities, CheckIn, DataMetadata
from coterie_wire.version import PROTOCOL
from tests.coterie.world import hear

pytestmark = pytest.mark.django_db

CAPABILITIES = Capabilities(cores=4, memory_bytes=1 << 30, machine="aarch64 Linux", agent="0.1.0")
READY = CheckIn(protocol=PROTOCOL, conditions=Conditions(charging="yes", network="wifi"))
ON_BATTERY = Reason("conditions.not_charging", "on battery")


def _join(secret: str, now: datetime) -> Device:
    return enrol_device(secret=secret, name="kiosk", capabilities=CAPABILITIES, now=now).device


class TestEnrolment:
    def test_gives_a_credential_of_which_only_the_hash_is_kept(self, enrol) -> None:
        device, credential = enrol(tags=("digits",))
        assert device_of_credential(credential) == device
        assert device.tags == ["digits"]
        assert credential not in str(Device.objects.values().get())

    def test_counts_the_uses_of_a_token(self, now: datetime) -> None:
        token, secret = create_enrolment_token(
            label="two", uses_allowed=2, expires_at=now + timedelta(hours=1), now=now
        )
        assert _join(secret, now) != _join(secret, now)
        with pytest.raises(TokenUsedUp):
            _join(secret, now)
        token.refresh_from_db()
        assert token.uses == 2

    def test_whose_answer_was_lost_is_of_the_same_device_and_uses_up_the_token_once(self, now: datetime) -> None:
        _, secret = create_enrolment_token(label="one", expires_at=now + timedelta(hours=1), now=now)
        drawn = new_secret("cod")
        first = enrol_device(secret=secret, name="kiosk", capabilities=CAPABILITIES, drawn=drawn, now=now)
        assert device_of_credential(drawn) == first.device
        for at in (now, now + timedelta(days=1)):
            again = enrol_device(secret=secret, name="kitchen", capabilities=CAPABILITIES, drawn=drawn, now=at)
            assert (again.device, again.credential) == (first.device, drawn)
        assert Device.objects.get().name == "kitchen"
        with pytest.raises(TokenUsedUp):
            _join(secret, now)
        revoke_device(device=first.device, now=now)
        with pytest.raises(TokenUsedUp):
            enrol_device(secret=secret, name="kiosk", capabilities=CAPABILITIES, drawn=drawn, now=now)

    def test_by_another_token_or_with_what_is_no_credential_gives_one_that_the_platform_draws(
        self, now: datetime
    ) -> None:
        drawn = new_secret("cod")
        ends = now + timedelta(hours=1)
        secrets = [create_enrolment_token(label="t", expires_at=ends, now=now).secret for _ in range(3)]
        shown = (drawn, drawn, "cod_short")
        joined = [
            enrol_device(secret=secret, name="kiosk", capabilities=CAPABILITIES, drawn=one, now=now)
            for secret, one in zip(secrets, shown, strict=True)
        ]
        assert joined[0].credential == drawn
        assert len({one.credential for one in joined} | {"cod_short"}) == 4
        assert len({one.device.pk for one in joined}) == 3

    def test_refuses_expired_revoked_and_unknown_tokens(self, now: datetime) -> None:
        later = now + timedelta(hours=1)
        with pytest.raises(TokenOverAlready, match="is past"):
            create_enrolment_token(label="t", expires_at=now, now=later)
        token, secret = create_enrolment_token(label="t", expires_at=later, now=now)
        with pytest.raises(TokenExpired):
            _join(secret, later)
        revoke_enrolment_token(token=token, now=now)
        with pytest.raises(TokenRevoked):
            _join(secret, now)
        with pytest.raises(TokenUnknown):
            _join("coe_guessed", now)
        assert not Device.objects.exists()

    @pytest.mark.parametrize("tag", ["", "Capitals", 'quo"te', "a" * 51, "-first"])
    def test_refuses_tags_that_cannot_be_searched_for(self, tag: str, now: datetime) -> None:
        with pytest.raises(BadTag):
            create_enrolment_token(label="t", expires_at=now, tags=[tag], now=now)


class TestPresence:
    def test_lasts_for_two_and_a_half_intervals_after_a_check_in(self, enrol, now: datetime) -> None:
        device = enrol().device
        assert why_not_ready(device, now=now)[0].code == "fleet.never_seen"
        hear(device, READY, now, check_in_s=4)
        settle(now=now + timedelta(seconds=10))
        assert Device.objects.get().is_present(now + timedelta(seconds=10))
        assert present_devices(now=now + timedelta(seconds=10)).get() == device
        late = now + timedelta(seconds=11)
        settle(now=late)
        assert not present_devices(now=late).exists()
        stored = Device.objects.get()
        assert stored.is_present(now + timedelta(seconds=10))
        assert not stored.is_present(now + timedelta(seconds=10.1))
        (reason,) = why_not_ready(stored, now=late)
        assert reason == Reason("fleet.absent", "the device was last seen 11 s ago and should check in every 4 s")

    def test_a_check_in_keeps_what_was_not_told_again(self, enrol, now: datetime) -> None:
        device = enrol().device
        told = CheckIn(
            protocol=PROTOCOL,
            conditions=Conditions(charging="no"),
            blockers=(ON_BATTERY,),
            metadata=DataMetadata(samples=7, class_counts=(3, 4)),
        )
        hear(device, told, now)
        hear(device, READY, now)
        stored = Device.objects.get()
        assert stored.reported_metadata() == told.metadata
        assert msgspec.convert(stored.capabilities, Capabilities) == CAPABILITIES
        assert msgspec.convert(stored.conditions, Conditions) == READY.conditions
        assert stored.reported_blockers() == ()

    def test_readiness_is_what_the_device_says(self, enrol, now: datetime) -> None:
        ready, waiting = enrol(tags=("a",)).device, enrol(tags=("a", "ab")).device
        hear(ready, READY, now)
        blocked = CheckIn(protocol=PROTOCOL, conditions=Conditions(), blockers=(ON_BATTERY,))
        hear(waiting, blocked, now)
        assert why_not_ready(waiting, now=now) == (ON_BATTERY,)
        assert list(ready_devices(now=now, tag="a")) == [ready]
        assert set(present_devices(now=now, tag="a")) == {ready, waiting}
        assert list(present_devices(now=now, tag="ab")) == [waiting]
        assert not present_devices(now=now, tag="b").exists()


class TestTheEnd:
    @pytest.mark.parametrize(("end", "error"), [(revoke_device, DeviceRevoked), (leave_fleet, DeviceLeft)])
    def test_ends_the_credential_at_once(self, end, error: type[CoterieError], enrol, now: datetime) -> None:
        device, credential = enrol()
        stale = Device.objects.get()
        end(device=device, now=now)
        with pytest.raises(error):
            device_of_credential(credential)
        hear(stale, READY, now)
        assert Device.objects.get().last_seen_at is None
        assert why_not_ready(device, now=now)[0].code == error.code

    def test_is_final(self, enrol, now: datetime) -> None:
        device = enrol().device
        leave_fleet(device=device, now=now)
        revoke_device(device=device, now=now + timedelta(hours=1))
        assert (device.state, device.ended_at) == (Device.State.LEFT, now)

    def test_an_unknown_credential_is_told_apart(self) -> None:
        with pytest.raises(CredentialUnknown):
            device_of_credential("cod_guessed")


def test_renames_and_tags(enrol) -> None:
    device = enrol().device
    change_device(device=device, name="hall", tags=["b", "a", "a"])
    change_device(device=device)
    stored = Device.objects.get()
    assert (stored.name, stored.tags) == ("hall", ["a", "b"])


@pytest.mark.parametrize(
    "name",
    ["two\nlines", "\x1b[31mred", "c1\x9b0m", "evil\u202etxt.exe", "line\u2028", "\u2066isolated", "half \ud83d"],
)
def test_a_name_stays_on_its_line(name: str, now: datetime, enrol: Callable[..., EnrolledDevice]) -> None:
    device = enrol("kiosk").device
    with pytest.raises(BadName):
        change_device(device=device, name=name)
    with pytest.raises(BadName):
        enrol(name)
    device.refresh_from_db()
    assert (device.name, Device.objects.count()) == ("kiosk", 1)


@pytest.mark.parametrize("name", ["Küche 3", "מטבח", "台所", "👩\u200d🔬 lab"])
def test_names_are_of_any_language(name: str, enrol: Callable[..., EnrolledDevice]) -> None:
    assert enrol(name).device.name == name
