"""Queries on roll-outs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.federations.selectors import followed_federation, lineages_of, present_members, taking_members
from coterie.fleet.models import Device
from coterie.fleet.presence import is_absent
from coterie.fleet.selectors import with_tag
from coterie.rollouts.models import Rollout, Trial


def active_rollout(federation: Federation, *, lock: bool = False) -> Rollout | None:
    """The roll-out under way, else the next one. With `lock` its row is locked."""
    active = federation.rollouts.filter(state__in=Rollout.ACTIVE).select_related("federation", "version__pair")
    active = active.order_by("state", "created_at", "id")  # measuring comes before planned
    return (active.select_for_update(of=("self",), no_key=True) if lock else active).first()


def active_rollouts() -> QuerySet[Rollout]:
    """Roll-outs that are planned or under way."""
    return Rollout.objects.filter(state__in=Rollout.ACTIVE)


def trials_of(devices: Sequence[Device], federations: Collection[UUID]) -> Mapping[tuple[UUID, UUID], Trial]:
    """The trials that `devices` take part in now, with their roll-outs, by device and federation."""
    measuring = Rollout.objects.filter(federation__in=federations, state=Rollout.State.MEASURING)
    rollouts = {rollout.pk: rollout for rollout in measuring.order_by()}
    if not rollouts:
        return {}
    found = {}
    for trial in Trial.objects.filter(rollout__in=rollouts, device__in=devices).order_by():
        trial.rollout = rollouts[trial.rollout_id]
        found[trial.device_id, trial.rollout.federation_id] = trial
    return found


def available_devices(rollout: Rollout, *, now: datetime) -> list[UUID]:
    """Devices that could try the candidate now: present, not held back, and to get it once it is promoted."""
    return _devices_for(rollout, present_members(rollout.federation, now=now))


def absent_devices(rollout: Rollout, *, now: datetime) -> list[UUID]:
    """Devices that could try the candidate if they were present."""
    return _devices_for(rollout, taking_members(rollout.federation).filter(is_absent(now)))


def _devices_for(rollout: Rollout, members: QuerySet[Device]) -> list[UUID]:
    federation = rollout.federation
    free = members.filter(paused_at=None, pinned_version="")
    if rollout.is_shadow():
        free = free.filter(capabilities__shadows=True)
    devices = list(with_tag(free, rollout.parsed_terms().group_tag()).only("pk", "tags", "project"))
    by_tags = {tuple(device.tags): device for device in devices}
    following = {tags for tags, device in by_tags.items() if followed_federation(device) == federation}
    candidates = [device.pk for device in devices if tuple(device.tags) in following]
    lineages = lineages_of(federation, candidates, plan=federation.parsed_plan())
    return [pk for pk in candidates if lineages[pk] == rollout.version.lineage]
