"""The evaluations' answers to devices."""

from collections.abc import Mapping
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.fleet_evaluation import reporting
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.messages import Done


def report_evaluation(device: Device, message: ReportEvaluation, now: datetime) -> Done:
    """Store a device's measurement of a version."""
    reporting.record_report(device=device, report=message, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {"report-evaluation": report_evaluation}
