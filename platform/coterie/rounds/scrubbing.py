"""Updates are hashed while they wait to be merged: a damaged one is replaced by a copy, or left out by itself."""

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
from coterie.rounds.transitions import tell

logger = logging.getLogger(__name__)

EVERY = timedelta(days=1)
"""How often an update that waits is read; most are merged before, which reads them."""
TAKES = (Round.State.OPEN, Round.State.CLOSING)


def scrub_updates(*, now: datetime, bytes_at_once: int | None = BYTES_AT_ONCE) -> Scrubbed:
    """Read the updates that may still be merged and were read longest ago, so many bytes of them; None: all.

    What is damaged is named by its hash. One that a merge was asked for is not judged here: the merge does, each time.
    """
    waits = Q(merge=None, fault_code="") & (
        Q(assignment__taken_by__state__in=TAKES) | Q(assignment__taken_by=None, assignment__round__carries_on=True)
    )
    again = Q(merge__state=Merge.State.ABANDONED, merge__round__tidied_at=None)
    wanted = Update.objects.filter(waits | again, partial=None)
    if bytes_at_once is not None:
        recently = Q(verified_at__range=(now - EVERY, now + EVERY)) | Q(received_at__range=(now - EVERY, now + EVERY))
        wanted = wanted.exclude(recently)
    repaired, damaged, count, size_bytes = [], [], 0, 0
    for update in wanted.order_by(F("verified_at").asc(nulls_first=True), "pk").iterator(chunk_size=100):
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
    """Take a damaged update out of its round, which may ask another device, or of those that wait for one."""
    Federation.objects.select_for_update(no_key=True).get(pk=update.federation_id)
    assignment = Assignment.objects.get(update=update)
    taken_by = assignment.taken_by_id
    round_ = None if taken_by is None else Round.objects.select_for_update(no_key=True).get(pk=taken_by)
    waiting = Update.objects.filter(pk=update.pk, merge=None, fault_code="")
    if not waiting.update(fault_code=DAMAGED.code, fault_sentence=DAMAGED.sentence):
        return
    if round_ is None:
        Assignment.objects.filter(pk=assignment.pk).update(taken_by=F("round"))
    elif round_.state in TAKES:
        round_.updates_in -= 1
        round_.save(update_fields=["updates_in"])
    teller = assignment.round_id if round_ is None else round_.pk
    tell(teller, RoundEvent.Kind.REJECTED, reason=DAMAGED, now=now, device_id=assignment.device_id)
