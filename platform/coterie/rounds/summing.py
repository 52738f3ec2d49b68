"""Rounds with secure aggregation: devices join the round's sum when they have trained, and follow it to its end.

While the round is open, devices join instead of delivering; it closes with the list of participants, and is merged when
the sum is collected.
"""

from datetime import datetime

from django.db import transaction

from coterie.fleet.models import Device
from coterie.rounds import reasons
from coterie.rounds.assigning import own_assignment, revive
from coterie.rounds.ending import close_if_full
from coterie.rounds.errors import AssignmentClosed
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.transitions import record_event
from coterie.secure_sums import services
from coterie.secure_sums.models import Party, SecureSum
from coterie.secure_sums.reasons import CLOSED
from coterie.secure_sums.selectors import news_of, party_of
from coterie_wire.messages import UploadState
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, RevealShares, ShareSecrets, SumNews


def ask_sum(*, device: Device, message: AskSum, now: datetime) -> SumNews:
    """What the device is to do now. Raises UnknownAssignment, NotYourAssignment or AssignmentClosed."""
    assignment = own_assignment(device=device, assignment_id=message.assignment)
    party = party_of(assignment.pk)
    if party is not None:
        if assignment.state in (Assignment.State.RELEASED, Assignment.State.REJECTED):
            return SumNews(str(party.sum_id), "over", reason=assignment.reason())
        return news_of(party)
    if assignment.state not in Assignment.UNENDED or assignment.round.state != Round.State.OPEN:
        return SumNews("", "over", reason=assignment.reason() or CLOSED)
    return SumNews(str(_sum(assignment, now).pk), "join")


def join_sum(*, device: Device, message: JoinSum, now: datetime) -> SumNews:
    """Add the device to the sum of its round, which closes with the last device that it wants.

    Raises UnknownAssignment, NotYourAssignment, AssignmentClosed, WrongStep, OtherIdentity, OtherAnswer or WireError
    ``secure_sum.wrong_signature``.
    """
    assignment = own_assignment(device=device, assignment_id=message.assignment)
    sum_ = _sum(assignment, now)
    with transaction.atomic():
        round_ = Round.objects.select_for_update(no_key=True).get(pk=assignment.round_id)
        assignment.refresh_from_db(fields=["state", "reason_code", "reason_sentence"])
        if assignment.state != Assignment.State.JOINED:
            if assignment.state not in Assignment.UNENDED or round_.state != Round.State.OPEN:
                state = assignment.reason_sentence or f"its round is {round_.state}"
                raise AssignmentClosed(assignment=str(assignment.pk), state=state)
            revive(assignment=assignment, now=now)
            services.join(sum_=sum_, device=device, assignment=assignment.pk, member=message.member)
            _count(assignment, round_, now)
    return _news(assignment)


def share_secrets(*, device: Device, message: ShareSecrets, now: datetime) -> SumNews:
    """Store the device's sealed shares. Raises what `_party` raises, or `services.store_shares`."""
    party = _party(device, message.assignment)
    services.store_shares(party=party, boxes=message.boxes, now=now)
    return news_of(_party(device, message.assignment))


def offer_masked(*, device: Device, message: OfferMasked) -> UploadState:
    """Answer with the offset at which the upload of a masked vector continues.

    Raises what `_party` raises, or `services.offer_vector`.
    """
    return services.offer_vector(party=_party(device, message.assignment), offer=message)


def reveal_shares(*, device: Device, message: RevealShares, now: datetime) -> SumNews:
    """Store the shares that unmask the sum; with the last ones the round is merged.

    Raises what `_party` raises, or `services.store_revealed`.
    """
    party = _party(device, message.assignment)
    services.store_revealed(party=party, shares=message.shares, now=now)
    found = _party(device, message.assignment)
    if found.sum.state not in services.STEPS.ways:
        ADVANCE.send(federation=str(found.sum.federation_id))
    return news_of(found)


def _count(assignment: Assignment, round_: Round, now: datetime) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(
        state=Assignment.State.JOINED, taken_by=round_, reason_code="", reason_sentence="", changed_at=now
    )
    record_event(round_.pk, RoundEvent.Kind.JOINED, now=now, device_id=assignment.device_id)
    round_.updates_in += 1
    round_.save(update_fields=["updates_in"])
    close_if_full(round_=round_, now=now)


def _sum(assignment: Assignment, now: datetime) -> SecureSum:
    """The sum of the assignment's round. Raises AssignmentClosed where its plan has none."""
    round_ = assignment.round
    if round_.parsed_plan().privacy.masking() is None:
        state = "the plan of its round sums updates that can be read"
        raise AssignmentClosed(assignment=str(assignment.pk), state=state)
    return services.begin_sum(
        federation=round_.federation,
        cohort=round_.pk,
        number=round_.number,
        plan=round_.plan,
        base_version=assignment.base_version,
        now=now,
    )


def _party(device: Device, assignment_id: str) -> Party:
    """Raises UnknownAssignment, NotYourAssignment or AssignmentClosed."""
    assignment = own_assignment(device=device, assignment_id=assignment_id)
    party = party_of(assignment.pk)
    if party is None or assignment.state != Assignment.State.JOINED:
        state = assignment.reason_sentence or reasons.CLOSED.sentence
        raise AssignmentClosed(assignment=assignment_id, state=state)
    return party


def _news(assignment: Assignment) -> SumNews:
    party = party_of(assignment.pk)
    assert party is not None, "it has joined"
    return news_of(party)
