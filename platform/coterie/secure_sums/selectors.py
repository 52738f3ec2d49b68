"""Queries on secure sums."""

from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from django.db.models import QuerySet

from coterie.privacy.reasons import device_out_of_budget
from coterie.secure_sums import reasons
from coterie.secure_sums.identity_log import log_head
from coterie.secure_sums.models import Party, SecureSum
from coterie_learning.answers import Encoding
from coterie_learning.contribution import Contents
from coterie_learning.secure_sum.members import MemberList, member_list
from coterie_learning.secure_sum.recovery import boxes_for
from coterie_learning.secure_sum.vector import Layout
from coterie_wire.conditions import Reason
from coterie_wire.secure_sum import Box, Member, Share, SumNews
from coterie_wire.structs import from_json

State = SecureSum.State
AGAIN_S = 1.0
"""Seconds until a device without a task asks again; it is woken when it has one."""


def members_of(sum_: SecureSum) -> MemberList:
    """The closed list of members."""
    entries = Party.objects.filter(sum=sum_, place__isnull=False).order_by("place").values_list("member", flat=True)
    return _parsed_list(str(sum_.pk), tuple(entries), log_head(sum_.log_length))


@lru_cache(maxsize=4)
def _parsed_list(session: str, entries: tuple[str, ...], head: bytes) -> MemberList:
    """Verifies the signatures again, as when devices joined, at a tenth of a second per thousand."""
    return member_list(session, [from_json(entry.encode(), Member) for entry in entries], head)


def layout_of(sum_: SecureSum, members: int) -> Layout:
    """The layout of the vectors of a sum with `members` members."""
    parsed_question = sum_.parsed_question()
    if parsed_question is not None:
        return Encoding(parsed_question, members).layout
    assert sum_.base_version is not None, "a sum of updates has their base"
    model, local = sum_.base_version.pair.model_spec(), sum_.parsed_plan().local
    return Contents(model, local, sum_.masking(), members=members, seed=sum_.number).layout


def shared(sum_: SecureSum) -> set[int]:
    """The places of the members that have shared their secrets."""
    return set(_places(sum_.parties.exclude(boxes="")))


def survivors(sum_: SecureSum) -> list[int]:
    """The places of the members whose vectors are summed, ascending."""
    return sorted(_places(sum_.parties.filter(delivered_at__isnull=False)))


def why(sum_: SecureSum) -> Reason:
    """What the sum waits for, in counts of devices."""
    parties = sum_.parties
    match SecureSum.State(sum_.state):
        case State.JOINING:
            return reasons.joining(parties.count())
        case State.SHARING:
            return reasons.waits(sum_.state, parties.exclude(boxes="").count(), parties.count())
        case State.MASKING:
            came = parties.filter(delivered_at__isnull=False).count()
            return reasons.waits(sum_.state, came, parties.exclude(boxes="").count())
        case State.REVEALING:
            of = parties.filter(delivered_at__isnull=False).count()
            return reasons.waits(sum_.state, parties.exclude(shares="").count(), of)
        case State.COLLECTED:
            came = parties.filter(delivered_at__isnull=False).count()
            return reasons.waits(sum_.state, came, parties.count())
        case State.FAILED:
            reason = sum_.reason()
            assert reason is not None, "what has failed has its reason"
            return reason


def news_of(party: Party) -> SumNews:
    """What the device of `party` should do now."""
    sum_ = party.sum
    session = str(sum_.pk)
    wait = SumNews(session, "wait", again_s=AGAIN_S, reason=why(sum_))
    late = SumNews(session, "over", reason=device_out_of_budget() if party.out_of_budget else reasons.LATE)
    match SecureSum.State(sum_.state):
        case State.JOINING:
            return wait
        case State.SHARING:
            if party.boxes:
                return wait
            found = members_of(sum_)
            return SumNews(session, "share", members=found.members, log_length=sum_.log_length, log_head=found.log_head)
        case State.MASKING:
            if not party.boxes:
                return late
            if party.delivered_at is not None:
                return wait
            return SumNews(session, "mask", boxes=_boxes_for(party))
        case State.REVEALING:
            if party.delivered_at is None:
                return late
            if party.shares:
                return wait
            return SumNews(session, "reveal", survivors=tuple(survivors(sum_)))
        case State.COLLECTED:
            return late if party.delivered_at is None else SumNews(session, "counted")
        case State.FAILED:
            return SumNews(session, "over", reason=sum_.reason())


def revealed(sum_: SecureSum) -> dict[int, Sequence[Share]]:
    """The shares that survivors have revealed, by place."""
    rows = sum_.parties.exclude(shares="").values_list("place", "shares")
    return {place: from_json(shares.encode(), tuple[Share, ...]) for place, shares in rows if place is not None}


def sum_of(cohort: int) -> SecureSum | None:
    """The sum of a cohort; None: it has none."""
    return SecureSum.objects.select_related("base_version__pair").filter(cohort=cohort).first()


def party_of(assignment: UUID) -> Party | None:
    """The party of an assignment; None: its device has not joined."""
    return Party.objects.select_related("sum__base_version__pair", "device").filter(pk=assignment).first()


def _places(parties: QuerySet[Party]) -> list[int]:
    return [place for place in parties.values_list("place", flat=True) if place is not None]


def _boxes_for(party: Party) -> tuple[Box, ...]:
    """The boxes for the party from its neighbours that have shared their secrets."""
    assert party.place is not None, "who has shared is in the list"
    neighbours = {box.to for box in from_json(party.boxes.encode(), tuple[Box, ...])}
    rows = party.sum.parties.filter(place__in=neighbours).exclude(boxes="").values_list("boxes", flat=True)
    boxes = [box for row in rows for box in from_json(row.encode(), tuple[Box, ...])]
    return boxes_for(party.place, boxes)
