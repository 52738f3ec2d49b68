"""Starts merges: the caller names the updates, and workers take it from there."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.merging import reasons
from coterie.merging.jobs import MERGE
from coterie.merging.models import Merge, Update
from coterie.registry.models import ModelVersion
from coterie.registry.selectors import latest_ancestors
from coterie.secure_sums.models import SecureSum


def ask_for_merge(
    *,
    federation: Federation,
    number: int,
    plan: object,
    seed: int,
    base_version: ModelVersion,
    updates: QuerySet[Update],
    fleet: int,
    secure_sum: SecureSum | None = None,
    staleness_allowed: int | None = None,
    now: datetime,
) -> Merge:
    """A merge of `updates`, which are in none yet, of a `fleet` of so many. The caller holds the federation's row.

    Of a plan that masks updates it is their `secure_sum`, and there are no `updates` that could be read.
    Where updates have other bases than the merge, `staleness_allowed` is by how many versions those may be older.
    """
    merge = Merge.objects.create(
        federation=federation,
        number=number,
        plan=plan,
        seed=seed,
        base_version=base_version,
        fleet=fleet,
        secure_sum=secure_sum,
        reason_code=reasons.MERGING.code,
        reason_sentence=reasons.MERGING.sentence,
        reason_at=now,
        asked_at=now,
    )
    updates.filter(merge=None).update(merge=merge)
    if staleness_allowed is not None:
        _record_staleness(merge, staleness_allowed)
    MERGE.send(merge=merge.pk)
    return merge


def _record_staleness(merge: Merge, allowed: int) -> None:
    """How stale each update is; one whose base is older than `allowed`, or was rolled back, is staler than allowed."""
    merge.updates.update(staleness=allowed + 1)
    for age, version in enumerate(latest_ancestors(merge.base_version, count=allowed + 1)):
        merge.updates.filter(base_version=version).update(staleness=age)
