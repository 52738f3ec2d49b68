"""The answer to devices that report on an update of their agent."""

from collections.abc import Mapping
from datetime import datetime

from coterie.agent_rollouts import reporting
from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie_wire.messages import Done
from coterie_wire.updating import ReportUpdate


def report_update(device: Device, message: ReportUpdate, now: datetime) -> Done:
    """Store the device's report."""
    reporting.record_update(device=device, report=message, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {"report-update": report_update}
