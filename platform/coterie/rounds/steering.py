"""An operator's decisions about one device that affect its current round."""

from datetime import datetime

from django.db import transaction

from coterie.fleet import services as fleet
from coterie.fleet.models import Device
from coterie.registry.errors import UnknownVersion
from coterie.registry.models import ModelVersion, Role
from coterie.registry.services import hold_version
from coterie.rounds.models import Assignment
from coterie.rounds.reasons import HELD_BACK
from coterie.rounds.transitions import end_assignments


@transaction.atomic
def pause_device(*, device: Device, now: datetime) -> None:
    """Pause the device: its assignment is released, and no round invites it until it is resumed."""
    fleet.pause_device(device=device, now=now)
    _release(device, now)


@transaction.atomic
def pin_device(*, device: Device, version: ModelVersion | None, now: datetime) -> None:
    """Keep the device on one version, out of rounds; None: let it follow its federation again.

    Raises UnknownVersion where it is a cloud model's, or VersionRemoved.
    """
    if version is not None and version.role != Role.DEVICE:
        raise UnknownVersion(version=str(version.pk))
    if version is not None:
        hold_version(version)
    fleet.pin_device(device=device, version="" if version is None else str(version.pk))
    if version is not None:
        _release(device, now)


def _release(device: Device, now: datetime) -> None:
    end_assignments(Assignment.objects.filter(device=device), Assignment.State.RELEASED, reason=HELD_BACK, now=now)
