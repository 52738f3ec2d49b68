"""Queries on federations and their members."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.federations.models import Federation, Group, Membership
from coterie.fleet.declining import declined_by, without_declining
from coterie.fleet.models import Device, EnrolmentToken
from coterie.fleet.selectors import enrolled_devices, holders, present_devices, ready_devices
from coterie.registry.models import ModelPair
from coterie_learning.consent import withdrawn_parts
from coterie_learning.plan import Plan


def members(federation: Federation) -> QuerySet[Device]:
    """The enrolled devices that belong to the federation."""
    return enrolled_devices(tag=federation.device_tag).filter(project=federation.project_id)


def member_counts(federations: Iterable[Federation]) -> Mapping[UUID, int]:
    """How many members each of `federations` has, in one query."""
    fleet = holders()
    return {
        federation.pk: sum(some.devices for some in fleet if some.belong(federation.project_id, federation.device_tag))
        for federation in federations
    }


def ready_members(federation: Federation, *, now: datetime) -> QuerySet[Device]:
    """Its members that are present and would train now."""
    ready = ready_devices(now=now, tag=federation.device_tag).filter(project=federation.project_id)
    return _taking_part(ready, federation)


def present_members(federation: Federation, *, now: datetime) -> QuerySet[Device]:
    """Its members that are present."""
    present = present_devices(now=now, tag=federation.device_tag).filter(project=federation.project_id)
    return _taking_part(present, federation)


def taking_members(federation: Federation) -> QuerySet[Device]:
    """Its members whose owners allow them to take part."""
    return _taking_part(members(federation), federation)


def _taking_part(devices: QuerySet[Device], federation: Federation) -> QuerySet[Device]:
    return without_declining(devices, federation.slug, federation.parsed_plan().device.scopes)


def is_declined(device: Device, federation: Federation) -> bool:
    """Whether the device's owner declines the federation, or something that its plan asks."""
    declined = declined_by(device)
    return bool(declined) and bool(withdrawn_parts(declined, federation.slug, federation.parsed_plan().device.scopes))


def federations_of(device: Device) -> QuerySet[Federation]:
    """The running and paused federations that the device belongs to, oldest first."""
    return Federation.objects.filter(
        project=device.project_id,
        state__in=(Federation.State.RUNNING, Federation.State.PAUSED),
        device_tag__in=["", *device.tags],
    )


def federations_for(token: EnrolmentToken) -> QuerySet[Federation]:
    """The running and paused federations that a device which joins with `token` would belong to, oldest first."""
    active = (Federation.State.RUNNING, Federation.State.PAUSED)
    return Federation.objects.filter(project=token.project_id, state__in=active, device_tag__in=["", *token.tags])


def federations_by_device(devices: Sequence[Device]) -> Mapping[UUID, Sequence[Federation]]:
    """The running and paused federations that each of `devices` belongs to and takes part in, oldest first.

    Where there are none, the most recent that has finished: the device still has its model.
    """
    tags = {"", *(tag for device in devices for tag in device.tags)}
    active = Federation.objects.filter(
        state__in=(Federation.State.RUNNING, Federation.State.PAUSED), device_tag__in=tags
    )
    found = _by_device(devices, active.order_by("created_at", "slug"))
    without = [device for device in devices if not found[device.pk]]
    if without:
        finished = Federation.objects.filter(state=Federation.State.FINISHED, device_tag__in=tags).order_by(
            "-created_at"
        )
        found |= {key: youngest[:1] for key, youngest in _by_device(without, finished).items()}
    return found


def _by_device(devices: Sequence[Device], federations: Iterable[Federation]) -> dict[UUID, list[Federation]]:
    candidates = list(federations)
    return {
        device.pk: [
            federation
            for federation in candidates
            if federation.project_id == device.project_id
            and federation.device_tag in ("", *device.tags)
            and not is_declined(device, federation)
        ]
        for device in devices
    }


def followed_federation(device: Device) -> Federation | None:
    """The federation whose model the device has: the oldest active one, else the most recent finished one."""
    return next(iter(federations_by_device([device])[device.pk]), None)


def lineages_of(federation: Federation, devices: Sequence[UUID], *, plan: Plan) -> Mapping[UUID, str]:
    """The lineage whose versions each of `devices` has: its group's, or the federation's."""
    found = dict.fromkeys(devices, federation.lineage())
    if plan.groups.divides:
        memberships = Membership.objects.filter(federation=federation, device__in=devices, until=None)
        for device, group in memberships.values_list("device_id", "group__name"):
            found[device] = federation.lineage(group)
    return found


def federation_of_lineage(pair: ModelPair, lineage: str) -> Federation | None:
    """The running or paused federation whose rounds make the versions of a lineage of `pair`."""
    owner, is_own, _ = lineage.partition("/")
    named = {"slug": owner, "own_versions": True} if is_own else {"own_versions": False}
    active = Federation.objects.filter(pair=pair, state__in=(Federation.State.RUNNING, Federation.State.PAUSED))
    return active.filter(**named).first()


def current_groups(federation: Federation) -> QuerySet[Group]:
    """The groups that have members, by name."""
    return federation.groups.filter(until=None).order_by("name")
