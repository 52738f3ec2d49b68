"""From open to the end: a round closes, releases whoever has not delivered, and is merged or abandoned."""

import logging
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from coterie.federations.models import Federation
from coterie.registry.models import ModelVersion
from coterie.rounds import reasons
from coterie.rounds.files import UPLOADS
from coterie.rounds.jobs import ADVANCE, MERGE
from coterie.rounds.models import Assignment, Round, Upload
from coterie.rounds.selectors import standing
from coterie.rounds.transitions import end_assignment, step
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

MAX_MERGE_ATTEMPTS = 5
"""Workers that may fail or die over a round before it is abandoned."""


def close_if_due(*, round_: Round, now: datetime) -> None:
    """Close an open round once its pace says so; from then on it takes no update."""
    if not round_.parsed_plan().pace.should_close(standing(round_, now=now)):
        return
    if step(round_, Round.State.CLOSING, reason=reasons.CLOSING, now=now, closed_at=now):
        ADVANCE.send(federation=str(round_.federation_id))


def conclude(*, round_: Round, now: datetime) -> None:
    """Release what is left of a closed round, and have it merged, or abandon it if too few updates came."""
    waiting = Assignment.objects.filter(round=round_, state__in=(*Assignment.LIVE, Assignment.State.DROPPED))
    for assignment in waiting:
        end_assignment(assignment, Assignment.State.RELEASED, reason=reasons.CLOSED, now=now)
    _forget_uploads(round_)
    pace = round_.parsed_plan().pace
    delivered = standing(round_, now=now).delivered
    if pace.verdict(delivered) == "merge":
        if step(round_, Round.State.MERGING, reason=reasons.MERGING, now=now):
            MERGE.send(round=round_.pk)
    else:
        reason = reasons.too_few_updates(delivered=delivered, needed=pace.updates_needed())
        abandon(round_=round_, reason=reason, now=now)


def abandon(*, round_: Round, reason: Reason, now: datetime, **changes: object) -> None:
    """End a round without a version; the next one is planned."""
    if step(round_, Round.State.ABANDONED, reason=reason, now=now, finished_at=now, lease_until=None, **changes):
        ADVANCE.send(federation=str(round_.federation_id))


def publish(*, round_: Round, version: ModelVersion, metrics: Mapping[str, float], now: datetime) -> None:
    """End a merging round well; the federation is finished if it wanted so many. The caller holds both rows."""
    step(
        round_,
        Round.State.PUBLISHED,
        reason=None,
        now=now,
        result_version=version,
        finished_at=now,
        lease_until=None,
        metrics=dict(metrics),
    )
    federation = round_.federation
    announce(
        Event.ROUND_PUBLISHED,
        {
            "federation": federation.slug,
            "round": round_.number,
            "version": str(version.pk),
            "version_number": version.number,
        },
        now=now,
    )
    published = federation.rounds.filter(state=Round.State.PUBLISHED).count()
    if federation.rounds_wanted is not None and published >= federation.rounds_wanted:
        Federation.objects.filter(pk=federation.pk).update(state=Federation.State.FINISHED)
    ADVANCE.send(federation=str(federation.pk))
    logger.info("%s is published as version %d", round_, version.number)


def _forget_uploads(round_: Round) -> None:
    uploads = Upload.objects.filter(assignment__round=round_)
    unfinished = [upload.assignment_id for upload in uploads]
    uploads.delete()

    def discard() -> None:
        for assignment in unfinished:
            UPLOADS.discard(assignment)

    transaction.on_commit(discard)
