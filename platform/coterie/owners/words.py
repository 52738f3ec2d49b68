"""A forgotten device's names in what others keep: entries of the audit log, and what webhooks were told."""

from collections.abc import Mapping

from django.db.models import CharField, Q, TextField
from django.db.models.functions import Cast

from coterie.audit.models import Entry
from coterie.fleet.models import Device
from coterie.fleet.services import pseudonym_of
from coterie.privacy.models import Budget
from coterie.webhooks.models import Delivery

PERSONAL = ("name", "tags", "notes", "quarantine", "capabilities", "conditions", "metadata")
"""Columns of a device in entries of the log."""


def forget_in_log(device: Device) -> None:
    """Entries stay, and tell of a device that is called otherwise.

    The database lets nothing else be changed in the log, and this only of devices that are forgotten.
    """
    pseudonym = pseudonym_of(device)
    budgets = Budget.objects.filter(device=device).annotate(key=Cast("pk", CharField())).values("key")
    about = Q(subject_kind="fleet.device", subject_id=str(device.pk))
    about_budget = Q(subject_kind="privacy.budget", subject_id__in=budgets)
    for entry in Entry.objects.filter(about | about_budget):
        subject_name = pseudonym if entry.subject_kind == "fleet.device" else f"budget of {pseudonym}"
        Entry.objects.filter(pk=entry.pk).update(
            subject_name=subject_name,
            before=_plain(entry.before, pseudonym),
            after=_plain(entry.after, pseudonym),
        )


def forget_in_deliveries(device: Device) -> None:
    """What a webhook was told of it is removed, and what it was to be told is told no more."""
    told = Delivery.objects.annotate(text=Cast("body", TextField()))
    told.filter(text__contains=str(device.pk)).delete()


def _plain(columns: Mapping[str, object], pseudonym: str) -> dict[str, object]:
    """The same columns without what is personal in them."""
    return {name: pseudonym if name in PERSONAL else value for name, value in columns.items()}
