"""Replaces a forgotten device's names elsewhere: in the audit log, webhook deliveries, sentences, and mutes."""

import re
from collections.abc import Mapping

from django.db.models import CharField, Model, Q, TextField
from django.db.models.functions import Cast

from coterie.alerts.models import Incident, Notice
from coterie.audit.models import Entry
from coterie.fleet.models import Device
from coterie.fleet.services import pseudonym_of
from coterie.privacy.models import Budget
from coterie.repairs.models import Mute
from coterie.webhooks.models import Delivery

PERSONAL = ("name", "tags", "notes", "quarantine", "capabilities", "conditions", "metadata")
"""Columns of a device in entries of the log."""
SENTENCES: tuple[type[Model], ...] = (Mute, Incident, Notice)
"""Keep what a fault said, which may be that of another thing and name the device as the last of several."""


def replace_in_log(device: Device) -> None:
    """Replace the device's name in entries by its pseudonym.

    The database allows no other change of the log, and this one only for forgotten devices.
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


def delete_deliveries(device: Device) -> None:
    """Delete webhook deliveries about the device, delivered or pending."""
    deliveries = Delivery.objects.annotate(text=Cast("body", TextField()))
    deliveries.filter(text__contains=str(device.pk)).delete()


def replace_in_sentences(device: Device, name: str) -> None:
    """Replace `name` by the pseudonym in sentences about it; a name within a longer word is another device's."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    for model in SENTENCES:
        for key, sentence in model._base_manager.filter(sentence__contains=name).values_list("pk", "sentence"):
            plain = word.sub(pseudonym_of(device), sentence)[:500]
            model._base_manager.filter(pk=key).update(sentence=plain)


def _plain(columns: Mapping[str, object], pseudonym: str) -> dict[str, object]:
    """The same columns without personal content."""
    return {name: pseudonym if name in PERSONAL else value for name, value in columns.items()}
