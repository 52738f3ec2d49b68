"""What operators do: ask a question, and cancel one."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from django.db import transaction

from coterie.analytics import reasons
from coterie.analytics.errors import BudgetSpent, NotUnderWay, TooFewDevices, WrongNumberOfDevices
from coterie.analytics.models import Question
from coterie.analytics.selectors import askable
from coterie.analytics.transitions import end
from coterie.audit.recording import audited
from coterie.core.events import notify_consoles, wake_devices
from coterie.federations.models import Federation
from coterie.privacy.accounting import most_of
from coterie.privacy.selectors import limit_of
from coterie.secure_sums.services import begin_sum_of_answers, fail_sum
from coterie_learning.answers import Encoding
from coterie_learning.question import Question as Content
from coterie_learning.question import parse_question
from coterie_wire.secure_sum import MOST_MEMBERS


@audited("analytics.ask_question")
def ask_question(
    *,
    federation: Federation,
    title: str,
    content: Mapping[str, object],
    epsilon: float | None,
    devices: int,
    within_s: float,
    now: datetime,
) -> Question:
    """Ask the devices of a federation; at most so many are summed, of those that join within `within_s` seconds.

    `epsilon`: what the answer may tell of a device, at the delta of the federation's budget; None: it is exact, and
    only asked where owners agree to that. Nothing is asked that budgets could not pay for.

    Raises WireError ``question.invalid``, ``secure_sum.too_few`` or ``secure_sum.too_few_bits``, WrongNumberOfDevices,
    TooFewDevices or BudgetSpent.
    """
    delta = None if epsilon is None else limit_of(federation).delta
    noise = None if epsilon is None or delta is None else 1 / math.sqrt(most_of(epsilon, delta))
    asked = parse_question({**content, "noise_multiplier": noise})
    _check_sums(asked, devices)
    found = askable(federation, asked)
    if len(found.able) < asked.min_devices:
        raise TooFewDevices(able=len(found.able), members=found.members, needed=asked.min_devices)
    if found.paying < asked.min_devices:
        raise BudgetSpent(paying=found.paying, needed=asked.min_devices)
    written = msgspec.to_builtins(asked)
    question = Question.objects.create(
        federation=federation,
        title=title,
        content=written,
        epsilon=epsilon,
        delta=delta,
        devices_wanted=devices,
        sum=begin_sum_of_answers(federation=federation, question=written, now=now),
        asked_at=now,
        closes_at=now + timedelta(seconds=within_s),
        **_why(devices),
    )
    wake_devices(str(device) for device in found.able)
    notify_consoles("analytics")
    return question


@audited("analytics.cancel_question", subject="question")
def cancel_question(*, question: Question, now: datetime) -> None:
    """End it without an answer; what devices have sent is removed. Raises NotUnderWay."""
    assert transaction.get_connection().in_atomic_block, "an audited service is"
    held = Question.objects.select_for_update(no_key=True).get(pk=question.pk)
    if held.state not in Question.ACTIVE:
        raise NotUnderWay(question=str(held.pk), state=held.state)
    fail_sum(key=held.sum_id, reason=reasons.CANCELLED, now=now)
    end(held, Question.State.CANCELLED, reason=reasons.CANCELLED, now=now)
    question.refresh_from_db()


def _check_sums(asked: Content, devices: int) -> None:
    """That the fewest devices and the most can be summed as promised."""
    if not asked.min_devices <= devices <= MOST_MEMBERS:
        raise WrongNumberOfDevices(devices=devices, least=asked.min_devices)
    for members in (asked.min_devices, devices):
        asked.terms.graph(members)
        _ = Encoding(asked, members).layout


def _why(devices: int) -> dict[str, str]:
    reason = reasons.joining(joined=0, wanted=devices)
    return {"reason_code": reason.code, "reason_sentence": reason.sentence}
