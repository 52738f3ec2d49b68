"""Starts merges: the caller names the updates, and workers take it from there."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.merging import reasons
from coterie.merging.jobs import MERGE
from coterie.merging.models import Merge, Update
from coterie.registry.models import ModelVersion


def ask_for_merge(
    *,
    federation: Federation,
    number: int,
    plan: object,
    seed: int,
    base_version: ModelVersion,
    updates: QuerySet[Update],
    now: datetime,
) -> Merge:
    """A merge of `updates`, which are in none yet. The caller holds the federation's row."""
    merge = Merge.objects.create(
        federation=federation,
        number=number,
        plan=plan,
        seed=seed,
        base_version=base_version,
        reason_code=reasons.MERGING.code,
        reason_sentence=reasons.MERGING.sentence,
        reason_at=now,
        asked_at=now,
    )
    updates.filter(merge=None).update(merge=merge)
    MERGE.send(merge=merge.pk)
    return merge
