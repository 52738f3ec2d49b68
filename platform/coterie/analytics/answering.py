"""Devices that answer: they join the question's sum, follow it to its end, or decline."""

from datetime import datetime

from django.db import transaction

from coterie.analytics.jobs import ADVANCE
from coterie.analytics.models import Part, Question
from coterie.analytics.reasons import CLOSED
from coterie.core.events import notify_consoles
from coterie.secure_sums import services
from coterie.secure_sums.errors import WrongStep
from coterie.secure_sums.models import Party
from coterie.secure_sums.selectors import news_of, party_of
from coterie_wire.conditions import Reason
from coterie_wire.messages import UploadState
from coterie_wire.secure_sum import JoinSum, OfferMasked, RevealShares, ShareSecrets, SumNews


def ask_sum(*, part: Part) -> SumNews:
    """What the device is to do now."""
    party = party_of(part.pk)
    if party is not None:
        return news_of(party)
    if part.declined_code or part.question.state != Question.State.OPEN:
        return SumNews("", "over", reason=CLOSED)
    return SumNews(str(part.question.sum_id), "join")


@transaction.atomic
def join_sum(*, part: Part, message: JoinSum) -> SumNews:
    """Take the device into the sum, which closes with the last that the question wants.

    Raises WrongStep, OtherIdentity, OtherAnswer or WireError ``secure_sum.wrong_signature``.
    """
    question = (
        Question.objects.select_for_update(of=("self",), no_key=True).select_related("sum").get(pk=part.question_id)
    )
    if party_of(part.pk) is None and question.state != Question.State.OPEN:
        raise WrongStep(wanted="session keys", step=CLOSED.sentence)
    services.join(sum_=question.sum, device=part.device, assignment=part.pk, member=message.member)
    if question.sum.parties.count() >= question.devices_wanted:
        ADVANCE.send(question=str(question.pk))
    return news_of(_party(part))


def share_secrets(*, part: Part, message: ShareSecrets, now: datetime) -> SumNews:
    """Keep the device's sealed shares. Raises WrongStep, or what `services.store_shares` raises."""
    services.store_shares(party=_party(part), boxes=message.boxes, now=now)
    return news_of(_party(part))


def offer_masked(*, part: Part, message: OfferMasked) -> UploadState:
    """Answer with the offset at which the upload of a masked vector continues.

    Raises WrongStep, or what `services.offer_vector` raises.
    """
    return services.offer_vector(party=_party(part), offer=message)


def reveal_shares(*, part: Part, message: RevealShares, now: datetime) -> SumNews:
    """Keep the shares that unmask the sum; the last has the question answered.

    Raises WrongStep, or what `services.store_revealed` raises.
    """
    services.store_revealed(party=_party(part), shares=message.shares, now=now)
    party = _party(part)
    if party.sum.state not in services.STEPS.ways:
        ADVANCE.send(question=str(part.question_id))
    return news_of(party)


def decline(*, part: Part, reason: Reason) -> None:
    """Record why the device will not answer, unless it has joined: the sum then goes on without it."""
    sentence = reason.sentence[:400]
    Part.objects.filter(pk=part.pk).update(declined_code=reason.code[:64], declined_sentence=sentence)
    notify_consoles("analytics")


def _party(part: Part) -> Party:
    """Raises WrongStep where the device has not joined."""
    party = party_of(part.pk)
    if party is None:
        raise WrongStep(wanted="such a message", step=CLOSED.sentence)
    return party
