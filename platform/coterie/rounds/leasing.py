"""Who merges a round: one worker at a time, for as long as it says so every few seconds."""

import logging
import uuid
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q

from coterie.core.errors import CoterieError
from coterie.core.lease import LEASE
from coterie.rounds.checkpoints import forget_checkpoints
from coterie.rounds.ending import MAX_MERGE_ATTEMPTS, abandon
from coterie.rounds.models import Round
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)


def take_lease(round_id: int, lease: uuid.UUID, now: datetime) -> Round | None:
    """The round, ours to merge for a while; None if another worker holds it or it has ended."""
    free = Round.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), pk=round_id, state=Round.State.MERGING)
    if not free.update(lease_token=lease, lease_until=now + LEASE, merge_attempts=F("merge_attempts") + 1):
        return None
    related = ("federation__held_out", "federation__cloud_data", "base_version__pair")
    return Round.objects.select_related(*related).get(pk=round_id)


def extend_lease(round_id: int, lease: uuid.UUID, now: datetime) -> bool:
    """Hold the round for longer; False if it has ended or another worker has taken it."""
    held = Round.objects.filter(pk=round_id, state=Round.State.MERGING, lease_token=lease)
    return held.update(lease_until=now + LEASE) == 1


def record_progress(round_id: int, lease: uuid.UUID, reason: Reason, now: datetime) -> None:
    """Say how far the merge is. Every step is kept, so that a worker's death from now on is a first attempt's again."""
    held = Round.objects.filter(pk=round_id, state=Round.State.MERGING, lease_token=lease)
    held.update(reason_code=reason.code, reason_sentence=reason.sentence, reason_at=now, merge_attempts=1)


def give_back(round_: Round, lease: uuid.UUID, error: CoterieError, now: datetime) -> None:
    """Let the merge be tried again when the lease ends; after the last attempt abandon the round."""
    logger.warning("merging %s failed, attempt %d: %s", round_, round_.merge_attempts, error)
    if round_.merge_attempts >= MAX_MERGE_ATTEMPTS:
        abandon_merging(round_.pk, Reason(error.code, str(error)[:400]), now)
    else:
        extend_lease(round_.pk, lease, now)


@transaction.atomic
def abandon_merging(round_id: int, reason: Reason, now: datetime) -> None:
    """End a round whose merge cannot succeed; nothing happens if it has ended."""
    round_ = Round.objects.get(pk=round_id)
    if round_.state == Round.State.MERGING:
        forget_checkpoints(round_id)
        abandon(round_=round_, reason=reason, now=now)
