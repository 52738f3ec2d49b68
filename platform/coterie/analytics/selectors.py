"""Which devices may be asked a question, and which are asked one now."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Count

from coterie.analytics.models import Part, Question
from coterie.federations.models import Federation
from coterie.federations.selectors import taking_members
from coterie.fleet.models import Device
from coterie.privacy.accounting import cost_of
from coterie.privacy.selectors import affordable_at
from coterie_learning.question import Histogram, quantile
from coterie_learning.question import Question as Content
from coterie_wire.asking import OfferToAnswer, OpenQuestion
from coterie_wire.structs import from_values

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles that are told of a histogram."""


@dataclass(frozen=True)
class Askable:
    """How many devices a question finds."""

    members: int
    able: Sequence[UUID]
    """Those whose agents support such questions and whose owners agree."""
    paying: int
    """Those of them whose budgets suffice."""


def askable(federation: Federation, content: Content) -> Askable:
    """The devices of `federation` that may be asked."""
    reported = taking_members(federation).order_by().values_list("pk", "capabilities")
    rows = list(reported)
    able = [device for device, capabilities in rows if may_be_asked(capabilities, content)]
    return Askable(len(rows), able, len(_paying(able, federation, content)))


def may_be_asked(capabilities: Mapping[str, object], content: Content) -> bool:
    """Whether a device with these capabilities has an owner who agrees to such a question."""
    offered = capabilities.get("answers")
    if offered is None:
        return False
    offer = from_values(offered, OfferToAnswer)
    return (
        content.subjects <= set(offer.subjects)
        and content.min_devices >= offer.min_devices
        and (content.noise_multiplier is not None or offer.without_noise)
    )


def pending_questions(devices: Sequence[Device], *, now: datetime) -> Mapping[UUID, OpenQuestion]:
    """The question that each of `devices` has to answer now, by device: of several questions the oldest.

    A device that is asked for the first time gets its part. Where no question is under way this is one query.
    """
    active = list(Question.objects.filter(state__in=Question.ACTIVE).select_related("federation").order_by("asked_at"))
    if not active:
        return {}
    parts = {
        (part.question_id, part.device_id): part
        for part in Part.objects.filter(question__in=active, device__in=devices)
    }
    found: dict[UUID, OpenQuestion] = {}
    for question in active:
        left = [device for device in devices if device.pk not in found]
        known = {device.pk: parts[question.pk, device.pk] for device in left if (question.pk, device.pk) in parts}
        if question.state == Question.State.OPEN:
            known |= _new_parts(question, [device for device in left if device.pk not in known], now)
        for device, part in known.items():
            if not part.declined_code:
                content = msgspec.Raw(msgspec.json.encode(question.content))
                found[device] = OpenQuestion(str(part.pk), question.federation.slug, content)
    return found


def part_of(name: str) -> Part | None:
    """The part with this name; None: it is not one of a question."""
    try:
        key = UUID(name)
    except ValueError:
        return None
    return Part.objects.select_related("question__sum", "question__federation", "device").filter(pk=key).first()


def asked_by_answer(question: Question) -> Counter[str]:
    """How many devices were asked, by the code with which they declined; blank: they did not."""
    counted = question.parts.order_by().values_list("declined_code").annotate(Count("pk"))
    return Counter(dict(counted)) + Counter(question.removed_parts)


def quantiles(question: Question) -> Mapping[str, float | None]:
    """Of the answer to a histogram, by share; empty: of another, or before it is answered."""
    count = question.parsed().count
    if not isinstance(count, Histogram) or question.state != Question.State.ANSWERED:
        return {}
    return {f"{share:g}": quantile(count.edges, question.counts, share) for share in SHARES}


def _new_parts(question: Question, devices: Iterable[Device], now: datetime) -> Mapping[UUID, Part]:
    """New parts for those of `devices` that may be asked and have none."""
    content, tag = question.parsed(), question.federation.device_tag
    able = [
        device.pk
        for device in devices
        if device.project_id == question.federation.project_id
        and tag in ("", *device.tags)
        and may_be_asked(device.capabilities, content)
    ]
    paying = _paying(able, question.federation, content)
    Part.objects.bulk_create([Part(question=question, device_id=device, asked_at=now) for device in paying])
    return {part.device_id: part for part in Part.objects.filter(question=question, device__in=paying)}


def _paying(devices: Sequence[UUID], federation: Federation, content: Content) -> Sequence[UUID]:
    """Those of `devices` whose budgets, and that of the federation, suffice for the answer."""
    spend = content.spend()
    if spend is None or not devices:
        return devices
    found = affordable_at(Device.objects.filter(pk__in=devices), federation, cost_of(spend))
    return list(found.values_list("pk", flat=True))
