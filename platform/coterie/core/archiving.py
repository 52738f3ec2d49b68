"""Rows that people write notes about, and put away when they need them no more: out of lists, never out of history."""

from datetime import datetime

from django.db import models
from rest_framework import serializers

MAX_NOTES = 4000
NOTES = "what people want to remember of it; plain text"
ARCHIVED_AT = "since when it is archived, which leaves it out of lists; null: it is not"


class Archivable(models.Model):
    """A row with notes that may be archived."""

    notes = models.TextField(blank=True, default="")
    archived_at = models.DateTimeField(null=True, blank=True)
    """Since when lists leave it out; None: they show it."""

    class Meta:
        abstract = True

    def set_archived(self, at: datetime | None) -> None:
        """Archive it, unless it is already; None: take it back."""
        if (self.archived_at is None) != (at is None):
            self.archived_at = at
            self.save(update_fields=["archived_at"])


class NotesField(serializers.CharField):
    """Notes, which may be blank."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_blank=True, max_length=MAX_NOTES, help_text=NOTES)


class ArchivedFilter(serializers.Serializer[None]):
    """Lists show what is not archived; ``?archived=true`` shows what is."""

    archived = serializers.BooleanField(default=False, help_text="those that are archived, instead of the others")
