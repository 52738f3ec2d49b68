"""Renewing credentials: whichever side is killed at whatever step, what the device holds is taken."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.core.credentials import hash_secret, new_secret
from coterie.fleet import device_api
from coterie.fleet.credentials import (
    APART_S,
    GRACE,
    MAX_WAITING,
    CredentialInUse,
    NotDue,
    OfferedTooOften,
    activate_shown,
    delete_former,
    is_renewal_due,
    offer_credential,
    renew_credential,
)
from coterie.fleet.models import Device, OtherCredential
from coterie.fleet.selectors import CredentialUnknown, device_of_credential
from coterie.fleet.services import BadTag, EnrolledDevice, revoke_device
from coterie.rounds.directives import check_in
from coterie_agent.home import Home, write_private
from coterie_agent.renewing import Renewing
from coterie_agent.store.opened import Store, open_store
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn, Enrolled
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db
Enrol = Callable[..., EnrolledDevice]
ABLE = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.3.0", renews=True)
SAYS = CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=ABLE)


@pytest.fixture
def now() -> datetime:
    """Of the clock, which look-ups ask."""
    return timezone.now()


def checked_in(credential: str, now: datetime) -> bool:
    """Check in as the gateway does; whether the device is to renew its credential."""
    device = device_of_credential(credential)
    activate_shown(device=device, credential=credential, now=now)
    return check_in(device=device, message=SAYS, now=now).renew_credential


def renewed(device: Device, former: str, now: datetime) -> str:
    """Another credential, which the device has used."""
    drawn = new_secret("cod")
    offer_credential(device=device_of_credential(former), sha256=hash_secret(drawn), now=now)
    checked_in(drawn, now)
    return drawn


def test_the_first_use_of_the_next_ends_the_former_after_a_grace(enrol: Enrol, now: datetime) -> None:
    device, former = enrol(at=now)
    assert not checked_in(former, now)
    renew_credential(device=device, leaked=False, now=now)
    assert checked_in(former, now)
    following = renewed(device, former, now)
    assert not checked_in(following, now)
    assert device_of_credential(former) == device
    checked_in(former, now)  # by a socket that was open: it stays the former one
    device.refresh_from_db()
    assert (device.credential_hash, device.credential_since) == (hash_secret(following), now)
    OtherCredential.objects.update(until=now - timedelta(seconds=1))
    with pytest.raises(CredentialUnknown):
        device_of_credential(former)
    delete_former(now=now)
    assert not OtherCredential.objects.exists()
    entry = Entry.objects.get(action="fleet.take_over_credential")
    assert (entry.subject_id, "credential_hash" in entry.after) == (str(device.pk), False)


def test_both_are_taken_until_the_next_is_used(enrol: Enrol, now: datetime) -> None:
    device, former = enrol(at=now)
    renew_credential(device=device, leaked=False, now=now)
    drawn = new_secret("cod")
    for _ in range(2):  # said again, nothing changes
        offer_credential(device=device, sha256=hash_secret(drawn), now=now)
    assert checked_in(former, now), "the former one in a check-in: it is still to renew"
    assert device_of_credential(drawn) == device
    assert OtherCredential.objects.count() == 1
    delete_former(now=now + 10 * GRACE)
    assert device_of_credential(drawn) == device


def test_a_leaked_credential_ends_with_the_first_use_of_the_next(enrol: Enrol, now: datetime) -> None:
    device, former = enrol(at=now)
    renew_credential(device=device, leaked=True, now=now)
    following = renewed(device, former, now)
    assert device_of_credential(following) == device
    with pytest.raises(CredentialUnknown):
        device_of_credential(former)


def test_nobody_can_renew_what_nobody_ordered(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    with pytest.raises(NotDue):
        offer_credential(device=device, sha256=hash_secret("stolen"), now=now)
    renew_credential(device=device, leaked=False, now=now)
    following = renewed(device, credential, now)
    device.refresh_from_db()
    offer_credential(device=device, sha256=hash_secret(following), now=now)  # a replay says nothing new
    with pytest.raises(NotDue):
        offer_credential(device=device, sha256=hash_secret(credential), now=now)  # one of the former one neither
    assert device_of_credential(following) == device


def test_what_a_device_offers_is_bounded(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    other, others = enrol(at=now)
    renew_credential(device=device, leaked=False, now=now)
    with pytest.raises(CredentialInUse):
        offer_credential(device=device, sha256=hash_secret(others), now=now)
    drawn = [new_secret("cod") for _ in range(MAX_WAITING + 1)]
    for number, one in enumerate(drawn):
        at = now + number * timedelta(seconds=APART_S)
        offer_credential(device=device, sha256=hash_secret(one), now=at)
        with pytest.raises(OfferedTooOften):
            offer_credential(device=device, sha256=hash_secret(f"after {one}"), now=at)
    with pytest.raises(CredentialUnknown):
        device_of_credential(drawn[0])
    checked_in(drawn[1], now)
    assert [one.sha256 for one in OtherCredential.objects.all()] == [hash_secret(credential)]
    assert device_of_credential(others) == other


def test_a_credential_is_renewed_by_its_age_and_not_by_all_devices_at_once(
    enrol: Enrol, now: datetime, settings: Settings
) -> None:
    settings.CREDENTIAL_DAYS = 100
    devices = [enrol(at=now).device for _ in range(30)]
    assert not any(is_renewal_due(device, now=now + timedelta(days=89)) for device in devices)
    assert all(is_renewal_due(device, now=now + timedelta(days=100)) for device in devices)
    assert 0 < sum(is_renewal_due(device, now=now + timedelta(days=95)) for device in devices) < 30
    settings.CREDENTIAL_DAYS = 0
    assert not any(is_renewal_due(device, now=now + timedelta(days=9999)) for device in devices)


def test_an_order_tells_how_far_devices_are_and_which_cannot(enrol: Enrol, now: datetime, api: APIClient) -> None:
    first, credential = enrol(tags=("hall",), at=now)
    old, _ = enrol(tags=("hall",), at=now)
    enrol(tags=("other",), at=now)
    gone, _ = enrol(tags=("hall",), at=now)
    checked_in(credential, now)
    revoke_device(device=gone, now=now)
    told = api.post("/api/credential-renewals/", {"tag": "hall"}).json()
    assert (told["devices"], told["waiting"], told["unable"], told["leaked"]) == (2, 2, 1, False)
    assert Entry.objects.get(action="fleet.renew_credentials").after["devices"] == 2
    renewed(first, credential, timezone.now())
    told = api.get(f"/api/credential-renewals/{told['id']}/").json()
    assert (told["devices"], told["waiting"], told["unable"]) == (2, 1, 1)
    (waiting,) = api.get(f"/api/devices/?renewal={told['id']}").json()["results"]
    assert (waiting["id"], waiting["renewal"]) == (str(old.pk), told["id"])
    assert {one["id"] for one in api.get("/api/devices/?renews=true").json()["results"]} == {str(first.pk)}
    assert not check_in(
        device=old, message=msgspec.structs.replace(SAYS, capabilities=None), now=now
    ).renew_credential, "an old agent goes on as it is"
    assert [one["tag"] for one in api.get("/api/credential-renewals/?tag=hall").json()["results"]] == ["hall"]


def test_an_order_for_one_device_and_for_a_tag_that_is_none(enrol: Enrol, now: datetime, api: APIClient) -> None:
    device, credential = enrol(at=now)
    told = api.post(f"/api/devices/{device.pk}/renew-credential/", {"leaked": True}).json()
    assert told["renewal"] is not None
    assert checked_in(credential, now)
    assert api.post("/api/credential-renewals/", {"tag": "No Tag"}).json()["code"] == BadTag.code
    revoke_device(device=device, now=now)
    Device.objects.update(renewal=None)
    assert api.post(f"/api/devices/{device.pk}/renew-credential/").json()["renewal"] is None


class Killed(BaseException):
    """The process ends here."""


Fate = Literal[
    "no order",
    "killed",
    "lost",
    "unanswered",
    "killed after the answer",
    "killed in between",
    "killed at the end",
    "done",
]
FATES: tuple[Fate, ...] = Fate.__args__  # type: ignore[attr-defined]


class TwoSides:
    """A real agent's credentials and a real platform, between which messages are lost, and either of which may die."""

    def __init__(self, store: Store, home: Home, joined: EnrolledDevice) -> None:
        self.device, self.now = joined.device, timezone.now()
        self.identity, self.home = store.identity, home
        self.fate: Fate = "done"
        enrolled = Enrolled(device="d", credential=joined.credential, platform_key=b"k" * 32, check_in_s=1)
        store.identity.save(url="http://x", name="x", enrolled=enrolled)
        self.shown = joined.credential

    def use_credential(self, credential: str) -> None:
        self.shown = credential
        if self.fate == "killed at the end":
            raise Killed

    def call(self, message: Any, _reply: type[Any]) -> Any:
        if self.fate == "killed":
            raise Killed
        if self.fate == "lost":
            raise ConnectionResetError
        answer = device_api.next_credential(device_of_credential(self.shown), message, self.now)
        if self.fate == "unanswered":
            raise ConnectionResetError
        if self.fate == "killed after the answer":
            raise Killed
        if self.fate == "killed in between":
            write_private(self.home.former_credential, self.shown.encode())
            raise Killed
        return answer

    def live(self, fate: Fate, *, leaked: bool, passes: timedelta, uses: bool) -> None:
        """One life of the agent: it checks in, and renews its credential if it is told to, as far as `fate` lets it."""
        self.now += passes
        OtherCredential.objects.filter(until__lt=self.now).update(until=timezone.now())
        self.fate = fate
        if fate != "no order":
            renew_credential(device=self.device, leaked=leaked, now=self.now)
        self.shown = self.identity.credential()
        with suppress(Killed):
            if checked_in(self.shown, self.now) and Renewing(self.identity, self).renew() and uses:
                checked_in(self.shown, self.now)
        assert device_of_credential(self.identity.credential()) == self.device

    def renew_undisturbed(self) -> None:
        """However it was before, two lives without faults do it: what was drawn before an order does not follow it."""
        before = self.identity.credential()
        self.live("done", leaked=False, passes=timedelta(seconds=APART_S), uses=True)
        self.live("no order", leaked=False, passes=timedelta(seconds=APART_S), uses=True)
        assert self.shown == self.identity.credential() != before
        assert Device.objects.get(pk=self.device.pk).renewal is None


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    with open_store(home) as store:
        yield store


@pytest.mark.parametrize("leaked", [False, True])
@pytest.mark.parametrize("fate", FATES)
def test_whichever_step_is_the_last_what_the_device_holds_is_taken(
    fate: Fate, leaked: bool, enrol: Enrol, store: Store, home: Home
) -> None:
    sides = TwoSides(store, home, enrol(at=timezone.now()))
    sides.live(fate, leaked=leaked, passes=timedelta(0), uses=False)
    sides.live("no order", leaked=False, passes=2 * GRACE, uses=True)
    sides.renew_undisturbed()


@pytest.mark.long
@examples(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lives=st.lists(
        st.tuples(st.sampled_from(FATES), st.booleans(), st.sampled_from([0, 1, 20, 10**6]), st.booleans()), max_size=8
    )
)
def test_over_many_lives_what_the_device_holds_is_taken(
    enrol: Enrol, store: Store, home: Home, lives: list[tuple[Fate, bool, int, bool]]
) -> None:
    store.identity.delete()
    sides = TwoSides(store, home, enrol(at=timezone.now()))
    for fate, leaked, passes_s, uses in lives:
        sides.live(fate, leaked=leaked, passes=timedelta(seconds=passes_s), uses=uses)
    sides.renew_undisturbed()


def test_after_the_platform_was_restored_the_credential_before_is_shown(
    enrol: Enrol, now: datetime, store: Store, home: Home
) -> None:
    joined = enrol(at=now)
    sides = TwoSides(store, home, joined)
    sides.live("done", leaked=True, passes=timedelta(0), uses=True)
    Device.objects.update(credential_hash=hash_secret(joined.credential))  # as it was in the backup
    with pytest.raises(CredentialUnknown):
        device_of_credential(store.identity.credential())
    renewing = Renewing(store.identity, sides)
    assert renewing.use_former_credential()
    assert device_of_credential(store.identity.credential()) == joined.device
    assert sides.shown == joined.credential
    assert not renewing.use_former_credential()


def test_a_drawn_credential_that_was_damaged_is_drawn_anew(store: Store, home: Home) -> None:
    drawn = store.identity.draw_credential()
    assert store.identity.draw_credential() == drawn
    assert home.next_credential.stat().st_mode & 0o777 == 0o600
    home.next_credential.write_bytes(b"cod_\0\0")
    assert store.identity.draw_credential() not in ("cod_\0\0", drawn)
