"""Advances questions as far as possible; callable at any time, and repeatable without effect."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from django.db import transaction

from coterie.analytics import reasons
from coterie.analytics.models import Question
from coterie.analytics.transitions import STEPS, State, end
from coterie.core.resting import LONGEST_S
from coterie.secure_sums.files import vectors_of
from coterie.secure_sums.models import SecureSum
from coterie.secure_sums.selectors import layout_of, members_of, revealed, shared, survivors
from coterie.secure_sums.services import advance_sum, discard_contents, fail_sum
from coterie_learning.answers import Encoding, FleetAnswer
from coterie_learning.secure_sum.recovery import recover, unmasked
from coterie_learning.secure_sum.vector import VectorFile, open_vector
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import OpenFile


def sweep(*, now: datetime) -> float:
    """Advance all that are under way; this alone is enough for each to end. Returns seconds for which there is none."""
    active = list(Question.objects.filter(state__in=Question.ACTIVE).values_list("pk", flat=True))
    for key in active:
        advance_question(key=key, now=now)
    return 0.0 if active else LONGEST_S


@transaction.atomic
def advance_question(*, key: UUID, now: datetime) -> None:
    """Advance a question as far as possible now."""
    question = (
        Question.objects.select_for_update(of=("self",), no_key=True).select_related("sum").filter(pk=key).first()
    )
    if question is None:
        return
    if question.state == State.OPEN:
        _close_if_due(question, now)
    if question.state == State.SUMMING:
        _follow_sum(question, now)


def _close_if_due(question: Question, now: datetime) -> None:
    joined, needed = question.sum.parties.count(), question.parsed().min_devices
    if joined < question.devices_wanted and now < question.closes_at:
        STEPS.explain(question, reasons.joining(joined=joined, wanted=question.devices_wanted))
    elif joined < needed:
        _fail(question, reasons.too_few(joined=joined, needed=needed), now)
    else:
        STEPS.take(question, State.SUMMING, reason=reasons.joining(joined=joined, wanted=question.devices_wanted))


def _follow_sum(question: Question, now: datetime) -> None:
    sum_ = advance_sum(key=question.sum_id, now=now)
    reason = sum_.reason()
    if sum_.state == SecureSum.State.COLLECTED:
        _answer(question, sum_, now)
    elif sum_.state == SecureSum.State.FAILED:
        assert reason is not None, "what has failed has its reason"
        _fail(question, reason, now)
    elif reason is not None:
        STEPS.explain(question, reason)


def _answer(question: Question, sum_: SecureSum, now: datetime) -> None:
    """Unmask the sum; its inputs are deleted."""
    try:
        found = _summed(question, sum_)
    except WireError as error:
        _fail(question, Reason(error.code, error.detail), now)
        return
    discard_contents(sum_)
    end(
        question,
        State.ANSWERED,
        reason=reasons.answered(found.devices),
        now=now,
        counts=found.counts.tolist(),
        deviation=found.deviation,
        devices=found.devices,
    )


def _summed(question: Question, sum_: SecureSum) -> FleetAnswer:
    """The counts of the survivors together. Raises WireError ``secure_sum.*`` or ``update.*``."""
    found, alive = members_of(sum_), survivors(sum_)
    recovered = recover(found, sum_.terms(), shared=shared(sum_), survivors=alive, revealed=revealed(sum_))
    layout = layout_of(sum_, len(found.members))
    hashes = sum_.parties.filter(place__in=alive).order_by("place").values_list("vector_sha256", flat=True)
    store = vectors_of(sum_)

    def opened(directory: Path) -> Iterator[VectorFile]:
        for sha256 in hashes:
            path = store.local_path(sha256, directory)
            with path.open("rb") as file:
                yield open_vector(OpenFile(file.fileno(), path.stat().st_size), layout, found.digest)

    with TemporaryDirectory() as directory:
        total = unmasked(opened(Path(directory)), layout, recovered.masks)
    return Encoding(question.parsed(), len(found.members)).answer(total, len(alive))


def _fail(question: Question, reason: Reason, now: datetime) -> None:
    fail_sum(key=question.sum_id, reason=reason, now=now)
    end(question, State.FAILED, reason=reason, now=now)
