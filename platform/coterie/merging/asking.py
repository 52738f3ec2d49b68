"""Creates merges: the caller names the updates, and workers do the rest."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.merging import reasons
from coterie.merging.jobs import MERGE
from coterie.merging.models import Merge, Update
from coterie.registry.models import ModelVersion
from coterie.registry.selectors import latest_ancestors
from coterie.secure_sums.models import SecureSum


def request_merge(
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
    """Create a merge of `updates`, which are in none yet. The caller holds the federation's row.

    `fleet` is the number of members. Under a plan that masks updates, `secure_sum` is merged instead of `updates`.
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
    """Store how stale each update is; `allowed` + 1 where its base is older than that, or was rolled back."""
    merge.updates.update(staleness=allowed + 1)
    for age, version in enumerate(latest_ancestors(merge.base_version, count=allowed + 1)):
        merge.updates.filter(base_version=version).update(staleness=age)
