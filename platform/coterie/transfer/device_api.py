"""The answers to devices that help one another."""

from collections.abc import Mapping
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.transfer import asking, directives, judging, personal, portions
from coterie_wire.helping import (
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    HelpNews,
    OfferPortion,
    ReportMerged,
    ReportProfile,
    ReportReceived,
    WithdrawHelp,
)
from coterie_wire.messages import Done, UploadState
from coterie_wire.personal import ReportPersonal


def report_profile(device: Device, message: ReportProfile, now: datetime) -> Done:
    """Store the profile that a device reports of its data."""
    asking.report_profile(device=device, report=message, now=now)
    return Done()


def ask_help(device: Device, message: AskHelp, now: datetime) -> HelpNews:
    """Request help from another device."""
    asking.ask_help(device=device, ask=message, now=now)
    return directives.news_of(device=device, request_id=message.request, now=now)


def withdraw_help(device: Device, message: WithdrawHelp, now: datetime) -> Done:
    """Withdraw a help request."""
    asking.withdraw_help(device=device, request_id=message.request, now=now)
    return Done()


def offer_portion(device: Device, message: OfferPortion, now: datetime) -> UploadState:
    """Answer a helper's offer with the offset at which its upload continues."""
    return portions.offer_portion(device=device, offer=message, now=now)


def decline_transfer(device: Device, message: DeclineTransfer, now: datetime) -> Done:
    """End a transfer that one of its devices cannot continue; another helper is asked."""
    judging.decline_transfer(device=device, transfer_id=message.transfer, reason=message.reason, now=now)
    return Done()


def report_received(device: Device, message: ReportReceived, now: datetime) -> Done:
    """Record whether a portion came by a direct path."""
    portions.report_received(device=device, report=message, now=now)
    return Done()


def report_merged(device: Device, message: ReportMerged, now: datetime) -> Done:
    """Record that a portion is merged and being judged."""
    judging.record_merged(device=device, transfer_id=message.transfer, now=now)
    return Done()


def give_verdict(device: Device, message: GiveVerdict, now: datetime) -> Done:
    """Record whether a portion helped."""
    judging.record_verdict(device=device, verdict=message, now=now)
    return Done()


def report_personal(device: Device, message: ReportPersonal, now: datetime) -> Done:
    """Store the figures of a device's personal model."""
    personal.record_personal_figures(device=device, report=message, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {
    "report-profile": report_profile,
    "ask-help": ask_help,
    "withdraw-help": withdraw_help,
    "offer-portion": offer_portion,
    "decline-transfer": decline_transfer,
    "report-received": report_received,
    "report-merged": report_merged,
    "give-verdict": give_verdict,
    "report-personal": report_personal,
}
