"""How devices report profiles of their data, and ask for help."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from coterie.core.events import notify_consoles
from coterie.federations.models import Federation
from coterie.federations.selectors import federations_of
from coterie.fleet.models import Device
from coterie.transfer import reasons
from coterie.transfer.advancing import abandon, locked_request
from coterie.transfer.errors import NoHelpThere, NotAMember, RequestTaken, WrongClasses
from coterie.transfer.jobs import ADVANCE
from coterie.transfer.models import DeviceProfile, HelpRequest, ReportedDay
from coterie.transfer.selectors import effective_plan_of, rules_of
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_learning.help import HelpRules
from coterie_wire.helping import AskHelp, Profile, ReportProfile, SampleNoise
from coterie_wire.structs import from_json


def report_profile(*, device: Device, report: ReportProfile, now: datetime) -> None:
    """Store the device's profile; one without classes withdraws what was reported before.

    Raises NotAMember, NoHelpThere or WrongClasses.
    """
    federation, _ = _helping_federation(device, report.federation)
    size_bytes = len(msgspec.json.encode(report))
    _store_profile(device, federation, report.profile, size_bytes, now)
    _count_report(device, federation, report.profile.noise, size_bytes, now)


@transaction.atomic
def ask_help(*, device: Device, ask: AskHelp, now: datetime) -> HelpRequest:
    """The state of the request; asking again changes nothing, asking for something else ends the former request.

    Raises NotAMember, NoHelpThere, WrongClasses or RequestTaken.
    """
    federation, rules = _helping_federation(device, ask.federation)
    effective_plan = effective_plan_of(federation)
    assert effective_plan is not None, "where devices help each other a plan applies"
    _check_classes(federation, ask.classes)
    _check_classes(federation, ask.profile.classes)
    Device.objects.select_for_update(no_key=True).get(
        pk=device.pk
    )  # two requests of one device are processed one after the other
    request_id = UUID(ask.request)
    existing = HelpRequest.objects.filter(pk=request_id).first()
    if existing is not None:
        if existing.device_id != device.pk:
            raise RequestTaken(request=ask.request)
        return existing
    for earlier in HelpRequest.objects.filter(device=device, state__in=HelpRequest.LIVE):
        held = locked_request(earlier.pk)
        if held is not None and held.is_live:
            abandon(held, reasons.ASKED_ANEW, now=now)
    request = HelpRequest.objects.create(
        id=request_id,
        federation=federation,
        device=device,
        changed_at=now,
        due_at=now + timedelta(seconds=rules.match_s),
        plan=from_json(effective_plan.plan),
        plan_digest=effective_plan.digest,
        classes=list(ask.classes),
        profile=msgspec.to_builtins(ask.profile),
        asked_at=now,
    )
    notify_consoles("transfer")
    _count_report(device, federation, ask.profile.noise, len(msgspec.json.encode(ask)), now)
    ADVANCE.send(request=str(request.pk))
    reported = {"device": str(device.pk), "device_name": device.name, "federation": federation.slug}
    announce(Event.DEVICE_DRIFTED, {**reported, "classes": list(ask.classes)}, about=device, now=now)
    return request


@transaction.atomic
def withdraw_help(*, device: Device, request_id: str, now: datetime) -> None:
    """Withdraw the request; nothing happens if it has ended, or is unknown."""
    try:
        existing = HelpRequest.objects.filter(pk=UUID(request_id), device=device).first()
    except ValueError:
        return
    request = locked_request(existing.pk) if existing is not None else None
    if request is not None and request.is_live:
        abandon(request, reasons.RECOVERED, now=now)


def _helping_federation(device: Device, slug: str) -> tuple[Federation, HelpRules]:
    federation = federations_of(device).filter(slug=slug).first()
    if federation is None:
        raise NotAMember(federation=slug)
    rules = rules_of(federation)
    if rules is None:
        raise NoHelpThere(federation=slug)
    return federation, rules


def _check_classes(federation: Federation, classes: tuple[int, ...]) -> None:
    classes_of_pair = federation.pair.model_spec().classes
    for label in classes:
        if label >= classes_of_pair:
            raise WrongClasses(label=label, classes=classes_of_pair)


def _store_profile(device: Device, federation: Federation, profile: Profile, size_bytes: int, now: datetime) -> None:
    _check_classes(federation, profile.classes)
    row, _ = DeviceProfile.objects.get_or_create(
        device=device, federation=federation, defaults={"batch": profile.batch, "content": {}, "updated_at": now}
    )
    DeviceProfile.objects.filter(pk=row.pk).update(
        batch=profile.batch,
        content=msgspec.to_builtins(profile),
        size_bytes=F("size_bytes") + size_bytes,
        reports=F("reports") + 1,
        updated_at=now,
    )


def _count_report(
    device: Device, federation: Federation, noise: SampleNoise | None, size_bytes: int, now: datetime
) -> None:
    """Add one to the device's count of reported profiles; a help request contains a profile too."""
    row, _ = ReportedDay.objects.get_or_create(
        device=device, federation=federation, day=now.astimezone(UTC).date(), defaults={"latest_at": now}
    )
    noised, epsilon, delta = (0, 0.0, 0.0) if noise is None else (1, noise.epsilon, noise.delta)
    ReportedDay.objects.filter(pk=row.pk).update(
        size_bytes=F("size_bytes") + size_bytes,
        reports=F("reports") + 1,
        noised=F("noised") + noised,
        epsilon=Greatest("epsilon", Value(epsilon)),
        delta=Greatest("delta", Value(delta)),
        latest_at=now,
    )
