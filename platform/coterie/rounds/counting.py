"""The only place where an update is counted: by itself, or as part of a sum."""

from datetime import datetime

from django.db import transaction
from django.forms import model_to_dict

from coterie.merging.models import Partial, Update, UpdateFacts
from coterie.rounds.files import UPLOADS
from coterie.rounds.models import Assignment, Round, RoundEvent, Upload
from coterie.rounds.transitions import record_event

FACTS = tuple(field.name for field in UpdateFacts._meta.fields)


def count_update(
    *,
    assignment: Assignment,
    upload: Upload,
    taken_by: Round | None,
    norm: float | None,
    partial: Partial | None = None,
    now: datetime,
) -> None:
    """Count the update of an assignment that was offered as `upload`. The caller holds the round's row."""
    facts = model_to_dict(upload, fields=FACTS)
    update = Update.objects.create(
        id=assignment.pk,
        federation_id=assignment.round.federation_id,
        device_id=assignment.device_id,
        base_version_id=assignment.base_version_id,
        cohort=assignment.round_id,
        partial=partial,
        norm=norm,
        received_at=now,
        **facts,
    )
    Assignment.objects.filter(pk=assignment.pk).update(
        state=Assignment.State.DELIVERED,
        update=update,
        taken_by=taken_by,
        reason_code="",
        reason_sentence="",
        changed_at=now,
    )
    round_id = assignment.round_id if taken_by is None else taken_by.pk
    record_event(round_id, RoundEvent.Kind.DELIVERED, now=now, device_id=assignment.device_id)
    upload.delete()
    transaction.on_commit(lambda: UPLOADS.discard(assignment.pk))
