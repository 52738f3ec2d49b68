"""Entries of the audit log. The database itself refuses to change or remove them (migration 0002)."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from coterie.core.separation import Separated


class Entry(Separated):
    """One write. It names people and things by value, so that it says the same when they are gone."""

    project_path = "project"

    class ActorKind(models.TextChoices):
        """What acted."""

        PERSON = "person"
        TOKEN = "token"  # noqa: S105 - a kind, not a secret
        SYSTEM = "system"
        NOBODY = "nobody"
        """Somebody who has not signed in."""

    at = models.DateTimeField(db_index=True)
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=40, blank=True)
    """The operator's, also where one of their tokens acted; blank for the platform."""
    actor_name = models.CharField(max_length=150)
    token = models.CharField(max_length=100, blank=True)
    """Name of the API token that acted."""
    address = models.CharField(max_length=45, blank=True)
    """Where the request came from."""
    project = models.ForeignKey(
        "accounts.Project", null=True, blank=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    """Of the changed row; none: it is of the installation."""
    action = models.CharField(max_length=64)
    """The service that wrote, e.g. ``fleet.revoke_device``."""
    subject_kind = models.CharField(max_length=64)
    """The changed row's model, e.g. ``fleet.device``."""
    subject_id = models.CharField(max_length=64)
    subject_name = models.CharField(max_length=200)
    before = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    """Those columns that the write changed, as they were; empty where the row is new."""
    after = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    """The same columns as they are now; empty where the row is gone."""

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["subject_kind", "subject_id", "-id"], name="audit_by_subject"),
            models.Index(fields=["actor_id", "-id"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.action} {self.subject_name}"
