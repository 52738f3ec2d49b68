"""Rows with notes that people may archive: left out of lists, kept in the history."""

from datetime import datetime

from django.db import models


class Archivable(models.Model):
    """A row with notes that may be archived."""

    notes = models.TextField(blank=True, default="")
    archived_at = models.DateTimeField(null=True, blank=True)
    """When it was archived, and lists leave it out; None: they show it."""

    class Meta:
        abstract = True

    def set_archived(self, at: datetime | None) -> None:
        """Archive it, unless it is already archived; None: restore it."""
        if (self.archived_at is None) != (at is None):
            self.archived_at = at
            self.save(update_fields=["archived_at"])
