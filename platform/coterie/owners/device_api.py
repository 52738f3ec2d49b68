"""What devices ask for their owners."""

from collections.abc import Mapping
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.owners import services
from coterie.owners.exporting import page_of
from coterie.owners.selectors import checked_receipt, forgetting_of, news_of
from coterie_wire.owning import ExportPage, Forget, ForgetNews, ReadExport, ReadReceipt


def read_export(device: Device, message: ReadExport, _now: datetime) -> ExportPage:
    """Answer with a page of what is known of the device."""
    return page_of(device, section=message.section, after=message.after)


def forget(device: Device, message: Forget, now: datetime) -> ForgetNews:
    """Let a device leave and be forgotten."""
    receipt = checked_receipt(message.receipt)
    return news_of(services.leave_forgotten(device=device, receipt=receipt, now=now))


def read_receipt(message: ReadReceipt, _drawn: str, _now: datetime) -> ForgetNews:
    """Tell whoever has a receipt how far the forgetting is."""
    return news_of(forgetting_of(checked_receipt(message.receipt)))


HANDLERS: Mapping[str, Handler] = {"read-export": read_export, "forget": forget}
