"""The answers to devices that are asked for their logs."""

from collections.abc import Mapping
from datetime import datetime

from coterie.device_logs import reporting
from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie_wire.device_log import DeliverLog, ReportLog
from coterie_wire.messages import Done


def report_log(device: Device, message: ReportLog, now: datetime) -> Done:
    """Keep what the owner says."""
    reporting.record_decision(device=device, report=message, now=now)
    return Done()


def deliver_log(device: Device, message: DeliverLog, now: datetime) -> Done:
    """Keep the lines."""
    reporting.store_lines(device=device, delivery=message, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {"report-log": report_log, "deliver-log": deliver_log}
