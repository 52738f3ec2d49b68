"""Queries on requests for devices' logs."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from coterie.device_logs.models import DeviceLog
from coterie.device_logs.reasons import GONE, TOO_OLD
from coterie.fleet.models import Device
from coterie_wire.conditions import Reason
from coterie_wire.device_log import LogAsked, SendsLog
from coterie_wire.structs import from_values

KEEP_DAYS = 30
"""Days after which delivered lines are deleted."""


def why_no_log(device: Device) -> Reason | None:
    """Why a device cannot send its log, whatever its owner says to a request; None: it can."""
    if device.state != Device.State.ENROLLED:
        return GONE
    logs = device.capabilities.get("logs")
    return TOO_OLD if logs is None else from_values(logs, SendsLog).refuses


def requested_logs(devices: Sequence[Device]) -> Mapping[UUID, LogAsked]:
    """By device, the log that an operator requests of it; one query, and none where no device can send one."""
    able = [device for device in devices if device.capabilities.get("logs") is not None]
    if not able:
        return {}
    requested = DeviceLog.objects.filter(device__in=able, state__in=DeviceLog.OPEN)
    return {
        log.device_id: LogAsked(request=str(log.pk), hours=log.hours, why=log.why, keep_days=KEEP_DAYS)
        for log in requested
    }
