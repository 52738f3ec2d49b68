"""The roll-outs' answers to devices."""

from collections.abc import Mapping
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.rollouts import reporting
from coterie_wire.messages import Done
from coterie_wire.trial import ReportTrial


def report_trial(device: Device, message: ReportTrial, now: datetime) -> Done:
    """Store a device's report on the candidate."""
    reporting.record_report(device=device, report=message, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {"report-trial": report_trial}
