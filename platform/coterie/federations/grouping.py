"""Changes to groups: the outcome of a split is stored, and devices are moved to their groups."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from coterie.core.events import wake_device
from coterie.federations.models import Federation, Group, Membership, Split
from coterie_wire.conditions import Reason


@transaction.atomic
def record_split(
    *,
    federation: Federation,
    round_number: int,
    lineages: Mapping[UUID, str],
    silhouettes: Mapping[str, float],
    distances: Mapping[str, Mapping[str, float]],
    reason: Reason,
    now: datetime,
) -> None:
    """Store the outcome of a split, and put each device of `lineages` into the group of that name; blank is none.

    Devices that took no part stay where they are; a group without members ends. Nothing happens if the round's split
    was recorded before. The caller holds the federation's row.
    """
    names = sorted({name for name in lineages.values() if name})
    _, is_new = Split.objects.get_or_create(
        federation=federation,
        round_number=round_number,
        defaults={
            "groups": max(1, len(names)),
            "silhouettes": dict(silhouettes),
            "distances": {name: dict(others) for name, others in distances.items()},
            "reason_code": reason.code,
            "reason_sentence": reason.sentence[:400],
            "at": now,
        },
    )
    if not is_new:
        return
    groups = {name: _begun(federation, name, now) for name in names}
    current = {
        membership.device_id: membership
        for membership in Membership.objects.filter(
            federation=federation, device__in=lineages, until=None
        ).select_related("group")
    }
    moved = []
    for device, name in lineages.items():
        before = current.get(device)
        if (before.group.name if before else "") == name:
            continue
        if before is not None:
            Membership.objects.filter(pk=before.pk).update(until=now)
        if name:
            moved.append(
                Membership(
                    group=groups[name],
                    federation=federation,
                    device_id=device,
                    since=now,
                    since_round=round_number,
                )
            )
        wake_device(str(device))
    Membership.objects.bulk_create(moved)
    members = Membership.objects.filter(group=OuterRef("pk"), until=None)
    Group.objects.filter(~Exists(members), federation=federation, until=None).update(until=now)


def _begun(federation: Federation, name: str, now: datetime) -> Group:
    """The group of that name, which may have ended before."""
    group, is_new = Group.objects.get_or_create(federation=federation, name=name, defaults={"since": now})
    if not is_new and group.until is not None:
        Group.objects.filter(pk=group.pk).update(until=None)
    return group
