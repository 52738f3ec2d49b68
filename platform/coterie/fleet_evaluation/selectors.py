"""Queries on federated evaluations."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.federations.models import Federation
from coterie.federations.selectors import followed_federation, present_members
from coterie.fleet.models import Device
from coterie.fleet.selectors import with_tag
from coterie.fleet_evaluation.models import Evaluation, Part


def active_evaluations() -> QuerySet[Evaluation]:
    """Evaluations that are planned or under way, oldest first."""
    return Evaluation.objects.filter(state__in=Evaluation.ACTIVE).order_by("created_at", "id")


def open_parts(devices: Sequence[Device]) -> Mapping[UUID, Part]:
    """By device, its oldest part that has no report yet, with its evaluation."""
    parts = Part.objects.filter(
        device__in=devices, reported_at=None, evaluation__state=Evaluation.State.MEASURING
    ).select_related("evaluation")
    found: dict[UUID, Part] = {}
    for part in parts.order_by("evaluation__begun_at", "pk"):
        found.setdefault(part.device_id, part)
    return found


def able_devices(evaluation: Evaluation, *, now: datetime) -> list[UUID]:
    """Devices that could measure it: present, not held back, able to, and with samples for the federation's model."""
    federation = evaluation.federation
    present = present_members(federation, now=now).filter(paused_at=None, capabilities__evaluates=True)
    devices = list(with_tag(present, evaluation.tag).only("pk", "tags", "project"))
    by_tags = {tuple(device.tags): device for device in devices}
    following = {tags for tags, device in by_tags.items() if _follows(device, federation)}
    return [device.pk for device in devices if tuple(device.tags) in following]


def _follows(device: Device, federation: Federation) -> bool:
    return followed_federation(device) == federation
