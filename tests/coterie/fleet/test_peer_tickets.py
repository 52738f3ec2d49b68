"""Tickets by which devices know one another: for whom, for how long, and who is out."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from coterie.core.identity import verify_key
from coterie.fleet import device_api
from coterie.fleet.exclusions import LIFE
from coterie.fleet.models import Device
from coterie.fleet.peer_tickets import NoPeerKey, TicketWithheld
from coterie.fleet.services import EnrolledDevice, leave_fleet, quarantine_device, resume_device, revoke_device
from coterie.rounds.directives import check_in
from coterie_wire.bundle import read_signed
from coterie_wire.conditions import Conditions
from coterie_wire.discovery import AskPeerTicket, PeerTicket, read_ticket
from coterie_wire.exclusion import Excluded
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db
Enrol = Callable[..., EnrolledDevice]
KEY = bytes(range(32))


def tell_key(device: Device, now: datetime) -> Device:
    says = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.3.0", peer_key=KEY)
    check_in(device=device, message=CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=says), now=now)
    return Device.objects.get(pk=device.pk)


def excluded_at(device: Device, now: datetime) -> set[str]:
    given = device_api.ask_peer_ticket(device, AskPeerTicket(), now)
    return set(read_signed(given.excluded, Excluded, verify_key()).devices)


def test_a_ticket_names_the_devices_key_for_a_day(enrol: Enrol, now: datetime) -> None:
    device = tell_key(enrol().device, now)
    given = device_api.ask_peer_ticket(device, AskPeerTicket(), now)
    ticket = read_ticket(given.ticket, verify_key(), excluded=(), now=now.timestamp())
    assert ticket == PeerTicket(PROTOCOL, str(device.pk), KEY, (now + timedelta(days=1)).timestamp())


def test_a_device_whose_key_is_not_known_has_to_check_in_first(enrol: Enrol, now: datetime) -> None:
    with pytest.raises(NoPeerKey):
        device_api.ask_peer_ticket(enrol().device, AskPeerTicket(), now)


def test_who_is_revoked_gone_or_in_quarantine_is_on_the_list_while_its_ticket_may_hold(
    enrol: Enrol, now: datetime
) -> None:
    asking, revoked, left, held, fine = (tell_key(enrol().device, now) for _ in range(5))
    revoke_device(device=revoked, now=now)
    leave_fleet(device=left, now=now)
    quarantine_device(device=held, why="its updates are far off", now=now)
    assert excluded_at(asking, now) == {str(revoked.pk), str(left.pk), str(held.pk)}
    with pytest.raises(TicketWithheld):
        device_api.ask_peer_ticket(Device.objects.get(pk=held.pk), AskPeerTicket(), now)
    resume_device(device=held, now=now)
    assert excluded_at(asking, now) == {str(revoked.pk), str(left.pk)}
    later = now + LIFE + timedelta(seconds=1)
    assert excluded_at(asking, later) == set()
    assert str(fine.pk) not in excluded_at(asking, now)
