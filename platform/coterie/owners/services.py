"""Forgetting a device: it is taken out of current work at once, and what is stored about it is removed step by step."""

from datetime import datetime
from uuid import UUID, uuid4

import msgspec
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Replace

from coterie.audit.recording import check_permitted, record
from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.models import Device
from coterie.fleet.services import anonymise_device, pseudonym_of
from coterie.owners.forgetting_names import delete_deliveries, replace_in_log, replace_in_sentences
from coterie.owners.jobs import SWEEP
from coterie.owners.models import Forgetting
from coterie.owners.reasons import ASKED
from coterie.owners.taking_out import hold_rounds, take_out
from coterie.rounds.models import Assignment, Fold, Route


class ReceiptTaken(CoterieError):
    """Another device has the receipt of this number."""

    code = "owners.receipt_taken"
    kind = ErrorKind.CONFLICT
    sentence = "Another device was forgotten under this number; draw another."


def forget_device(*, device: Device, now: datetime) -> Forgetting:
    """Forget a device, at an operator's request for its owner. Forgetting twice changes nothing.

    Raises NobodyActs, RoleNeeded or ScopeNeeded.
    """
    check_permitted("owners.forget_device")
    with transaction.atomic():
        existing = Forgetting.objects.filter(device=device).first()
        if existing is not None:
            return existing
        forgetting = _begin_forgetting(device, uuid4(), Forgetting.By.OPERATOR, now)
        after = {"id": str(forgetting.pk), "device_id": str(device.pk), "asked_by": forgetting.asked_by}
        record("owners.forget_device", row=forgetting, before={}, after=after)
    return forgetting


def leave_forgotten(*, device: Device, receipt: UUID, now: datetime) -> Forgetting:
    """Let the device leave and forget it, at its owner's request; the device has drawn the number of the receipt.

    Raises ReceiptTaken.
    """
    with transaction.atomic():
        existing = Forgetting.objects.filter(device=device).first()
        if existing is not None:
            return existing
        if Forgetting.objects.filter(pk=receipt).exists():
            raise ReceiptTaken
        return _begin_forgetting(device, receipt, Forgetting.By.OWNER, now)


def _begin_forgetting(device: Device, receipt: UUID, by: Forgetting.By, now: datetime) -> Forgetting:
    """Begin forgetting: once this is committed, no merge gets an update of the device."""
    hold_rounds(device)
    device = Device.objects.select_for_update(no_key=True).get(pk=device.pk)
    existing = Forgetting.objects.filter(device=device).first()
    if existing is not None:  # another request was quicker
        return existing
    name = device.name
    anonymise_device(device=device, now=now)
    taken_out, files = take_out(device, now=now)
    forgetting = Forgetting.objects.create(
        id=receipt,
        device=device,
        asked_by=by,
        asked_at=now,
        taken_out=taken_out,
        files=msgspec.to_builtins(files),
        reason_code=ASKED.code,
        reason_sentence=ASKED.sentence,
    )
    _replace_name(device, name)
    replace_in_log(device)
    delete_deliveries(device)
    replace_in_sentences(device, name)
    SWEEP.send()
    return forgetting


def _replace_name(device: Device, name: str) -> None:
    """Replace its name in stored sentences: its own, and those of neighbours whose updates it summed."""
    new = pseudonym_of(device)
    Assignment.objects.filter(device=device, reason_sentence__contains=name).update(
        reason_sentence=Replace("reason_sentence", Value(name), Value(new))
    )
    for phrase in ("{} is the supernode of ", "the sum that {} sent ", "{} has shed the device", "; {} takes it"):
        old = phrase.format(name)
        for model, column in ((Route, "reason_sentence"), (Fold, "reason_sentence"), (Fold, "way_sentence")):
            model._base_manager.filter(**{f"{column}__contains": old}).update(
                **{column: Replace(column, Value(old), Value(phrase.format(new)))}
            )
