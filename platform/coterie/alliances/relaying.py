"""The actions of parties: agree, submit letters, fetch those of the other, and end."""

from datetime import datetime
from typing import cast

import msgspec
from django.db import transaction

from coterie.alliances import reasons
from coterie.alliances.errors import OtherKey
from coterie.alliances.models import Alliance, Letter, Party
from coterie.alliances.selectors import party_of
from coterie.alliances.transitions import STEPS, end
from coterie.core.events import notify_consoles
from coterie.fleet.models import Device
from coterie.registry.selectors import signed_manifest
from coterie_wire.alliances import MOST_AT_ONCE, ExchangeLetters, JoinAlliance, LettersNews, NewsState, Role
from coterie_wire.alliances import Alliance as AllianceMessage

State = Alliance.State
MOST_WAITING = 64
"""Most letters of one party that wait for the other."""


@transaction.atomic
def join_alliance(*, device: Device, message: JoinAlliance, now: datetime) -> AllianceMessage:
    """Record that the owner has agreed; again, it changes nothing. Raises UnknownAlliance or OtherKey."""
    alliance, party, other = _locked(device, message.alliance)
    if party.key is None and alliance.state == State.WAITING:
        if other.key is not None and (bytes(other.key), _bytes(other.partner)) != (message.partner, message.key):
            raise OtherKey
        party.key, party.partner = message.key, message.partner
        party.people, party.columns = message.people, message.columns
        party.joined_at = party.seen_at = now
        party.save()
        if other.key is None:
            STEPS.explain(alliance, reasons.needs_consent([other.device.name]))
        else:
            STEPS.take(alliance, State.WORKING, reason=reasons.aligning(), begun_at=now)
    elif (_bytes(party.key), _bytes(party.partner)) != (message.key, message.partner):
        raise OtherKey
    return AllianceMessage(
        role=cast(Role, party.role),
        terms=msgspec.Raw(msgspec.json.encode(alliance.terms)),
        manifest=signed_manifest(party.version_id),
    )


@transaction.atomic
def exchange_letters(*, device: Device, message: ExchangeLetters, now: datetime) -> LettersNews:
    """Store the party's letters, delete those it has fetched, and return waiting ones. Raises UnknownAlliance."""
    alliance, party, other = _locked(device, message.alliance)
    if alliance.state != State.WORKING:
        if alliance.state == State.WAITING and message.ended == "failed":
            _fail(alliance, party, message, now)
        return _news(alliance, party, other)
    party.seen_at = now
    party.taken = max(party.taken, message.received)
    Letter.objects.filter(party=other, number__lt=party.taken).delete()
    # What the other party has fetched is not stored again, even after the platform was restored from a backup.
    party.sent = max(party.sent, other.taken)
    for number, content in enumerate(message.letters, start=message.first):
        if number == party.sent and number < other.taken + MOST_WAITING:
            Letter.objects.create(party=party, number=number, content=content)
            party.sent += 1
            party.sent_bytes += len(content)
    if message.ended == "finished" and party.finished_at is None:
        party.finished_at = now
    party.save()
    if message.ended == "failed":
        _fail(alliance, party, message, now)
        return _news(alliance, party, other)
    if alliance.take_figures(message.figures):
        alliance.save(update_fields=["common", "epoch", "loss", "accuracy", "alone", "history"])
        notify_consoles("alliances")
    if party.finished_at is not None and other.finished_at is not None:
        reason = reasons.finished(alliance.accuracy, common=alliance.common)
        end(alliance, State.FINISHED, reason=reason, now=now)
    return _news(alliance, party, other, received=message.received)


def _locked(device: Device, key: str) -> tuple[Alliance, Party, Party]:
    """The alliance, its row locked until the transaction ends, the device's party, and the other one."""
    found = party_of(device, key)
    alliance = Alliance.objects.select_for_update(no_key=True).get(pk=found.alliance_id)
    parties = list(Party.objects.filter(alliance=alliance).select_related("device"))
    (party,) = [one for one in parties if one.pk == found.pk]
    (other,) = [one for one in parties if one.pk != found.pk]
    return alliance, party, other


def _news(alliance: Alliance, party: Party, other: Party, *, received: int | None = None) -> LettersNews:
    """With letters from number `received` on; None: none."""
    letters: list[bytes] = []
    if received is not None:
        rows = Letter.objects.filter(party=other, number__gte=received).order_by("number")[:MOST_AT_ONCE]
        letters = [bytes(row.content) for place, row in enumerate(rows) if row.number == received + place]
    return LettersNews(
        wanted=max(party.sent, other.taken),
        taken=other.taken,
        letters=tuple(letters),
        state=cast(NewsState, alliance.state),
        reason=alliance.reason(),
    )


def _fail(alliance: Alliance, party: Party, message: ExchangeLetters, now: datetime) -> None:
    assert message.reason is not None, "who fails says why"
    end(alliance, State.FAILED, reason=reasons.reported_by(party.device.name, message.reason), now=now)


def _bytes(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
