"""Updates are verified while they wait to be merged: a damaged one is replaced by a copy, or left out alone."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from coterie.federations.models import Federation
from coterie.merging.files import updates_of
from coterie.merging.models import Merge, Update
from coterie.merging.reasons import DAMAGED
from coterie.registry.verifying import BYTES_AT_ONCE, Scrubbed, is_sound, replace_by_copy
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.transitions import record_event

logger = logging.getLogger(__name__)

READ_EVERY = timedelta(days=1)
"""How often a waiting update is read; most are merged sooner, which reads them too."""
TAKING_STATES = (Round.State.OPEN, Round.State.CLOSING)


def scrub_updates(*, now: datetime, bytes_at_once: int | None = BYTES_AT_ONCE) -> Scrubbed:
    """Read `bytes_at_once` of the updates that may still be merged, those read longest ago first; None: all.

    Damaged ones are returned by their hash. Updates of a requested merge are left to the merge, which verifies them.
    """
    waits = Q(merge=None, fault_code="") & (
        Q(assignment__taken_by__state__in=TAKING_STATES)
        | Q(assignment__taken_by=None, assignment__round__carries_on=True)
    )
    again = Q(merge__state=Merge.State.ABANDONED, merge__round__tidied_at=None)
    pending = Update.objects.filter(waits | again, partial=None)
    if bytes_at_once is not None:
        recently = Q(verified_at__range=(now - READ_EVERY, now + READ_EVERY)) | Q(
            received_at__range=(now - READ_EVERY, now + READ_EVERY)
        )
        pending = pending.exclude(recently)
    repaired, damaged, count, size_bytes = [], [], 0, 0
    for update in pending.order_by(F("verified_at").asc(nulls_first=True), "pk").iterator(chunk_size=100):
        if bytes_at_once is not None and count and size_bytes + update.size_bytes > bytes_at_once:
            break
        count, size_bytes = count + 1, size_bytes + update.size_bytes
        store = updates_of(update.cohort)
        if not is_sound(store, update.sha256):
            if replace_by_copy(store, update.sha256):
                repaired.append(update.sha256)
                logger.warning("the %s was damaged and is sound again", update)
            else:
                damaged.append(update.sha256)
                logger.error("the %s is lost or damaged, and no copy of it was found", update)
                _leave_out(update, now)
        Update.objects.filter(pk=update.pk).update(verified_at=now)
    return Scrubbed(count, size_bytes, tuple(repaired), tuple(damaged))


@transaction.atomic
def _leave_out(update: Update, now: datetime) -> None:
    """Remove a damaged update from its round, which may invite another device, or from those that wait for a round."""
    Federation.objects.select_for_update(no_key=True).get(pk=update.federation_id)
    assignment = Assignment.objects.get(update=update)
    taken_by = assignment.taken_by_id
    round_ = None if taken_by is None else Round.objects.select_for_update(no_key=True).get(pk=taken_by)
    waiting = Update.objects.filter(pk=update.pk, merge=None, fault_code="")
    if not waiting.update(fault_code=DAMAGED.code, fault_sentence=DAMAGED.sentence):
        return
    if round_ is None:
        Assignment.objects.filter(pk=assignment.pk).update(taken_by=F("round"))
    elif round_.state in TAKING_STATES:
        round_.updates_in -= 1
        round_.save(update_fields=["updates_in"])
    round_id = assignment.round_id if round_ is None else round_.pk
    record_event(round_id, RoundEvent.Kind.REJECTED, reason=DAMAGED, now=now, device_id=assignment.device_id)
