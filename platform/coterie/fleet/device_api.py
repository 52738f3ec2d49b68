"""The fleet's answers to devices."""

from collections.abc import Mapping
from datetime import datetime

from coterie.core.identity import verify_key
from coterie.fleet import certificates, credentials, peer_tickets, services
from coterie.fleet.handler import Handler
from coterie.fleet.kinds import is_of_first_release
from coterie.fleet.models import Device
from coterie.releases.served import newest_root
from coterie_wire.certificates import AskCertificate, Certified
from coterie_wire.discovery import AskPeerTicket, PeerTicketGiven
from coterie_wire.messages import Done, Enrol, Enrolled, Leave, NextCredential


def enrol(message: Enrol, drawn: str, now: datetime) -> Enrolled:
    """Enrol a device that has `drawn` its credential; blank: it has not."""
    update_root = newest_root()  # first: if the storage does not answer, the device has not joined
    device, credential = services.enrol_device(
        secret=message.token, name=message.name, capabilities=message.capabilities, drawn=drawn, now=now
    )
    return Enrolled(
        device=str(device.pk),
        credential=credential,
        platform_key=verify_key(),
        check_in_s=device.check_in_s,
        update_root=None if is_of_first_release(device) else update_root,
        certificates=certificates.are_issued() and not is_of_first_release(device),
    )


def leave(device: Device, _message: Leave, now: datetime) -> Done:
    """Let a device leave the fleet."""
    services.leave_fleet(device=device, now=now)
    return Done()


def next_credential(device: Device, message: NextCredential, now: datetime) -> Done:
    """Accept the next credential that the device has drawn."""
    credentials.offer_credential(device=device, sha256=message.sha256, now=now)
    return Done()


def ask_certificate(device: Device, message: AskCertificate, now: datetime) -> Certified:
    """Certify the key that the device has drawn for its connections."""
    return Certified(chain=tuple(certificates.issue_certificate(device=device, message=message, now=now)))


def ask_peer_ticket(device: Device, _message: AskPeerTicket, now: datetime) -> PeerTicketGiven:
    """Issue a ticket with which other devices recognise this one."""
    return peer_tickets.ticket_for(device=device, now=now)


HANDLERS: Mapping[str, Handler] = {
    "leave": leave,
    "next-credential": next_credential,
    "ask-certificate": ask_certificate,
    "ask-peer-ticket": ask_peer_ticket,
}
