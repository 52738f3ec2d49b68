"""Webhooks, and each delivery with its outcome."""

from django.db import models
from django.db.models import Q

from coterie.core.separation import ProjectRoot, Separated
from coterie.webhooks.outgoing import Outgoing, Receiver


class Event(models.TextChoices):
    """Events that can be delivered."""

    ROUND_OPENED = "round.opened"
    ROUND_PUBLISHED = "round.published"
    ROUND_ABANDONED = "round.abandoned"
    FEDERATION_STARTED = "federation.started"
    FEDERATION_PAUSED = "federation.paused"
    """By an operator, or by itself."""
    FEDERATION_FINISHED = "federation.finished"
    CHAMPION_CHANGED = "champion.changed"
    """A round, a roll-out, a job or an operator has another version used."""
    LINEAGE_REBUILT = "lineage.rebuilt"
    """Without a device that was forgotten."""
    ROLLOUT_STARTED = "rollout.started"
    ROLLOUT_ENDED = "rollout.ended"
    AGENT_ROLLOUT_ENDED = "agent_rollout.ended"
    DEVICE_ENROLLED = "device.enrolled"
    DEVICE_ENDED = "device.ended"
    """It was revoked, or has left."""
    DEVICE_QUARANTINED = "device.quarantined"
    DEVICE_DRIFTED = "device.drifted"
    TRANSFER_JUDGED = "transfer.judged"
    PAIR_JUDGED = "pair.judged"
    """By its pre-flight: it is ready, or rejected."""
    JOB_SUCCEEDED = "job.succeeded"
    JOB_FAILED = "job.failed"
    TEST = "test"
    """Somebody pressed the button."""


class Webhook(Receiver, ProjectRoot):
    """A URL to which some events are delivered."""

    name = models.CharField(max_length=100)
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    """A list of `Event`."""
    secret = models.CharField(max_length=100, editable=False)
    """Signs the deliveries (`coterie.webhooks.signing`), so it is kept as it is; it is shown once."""
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="webhook_name_once")]

    def __str__(self) -> str:
        return self.name


class Delivery(Outgoing, Separated):
    """One event for one webhook."""

    project_path = "webhook__project"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, choices=Event.choices)
    body = models.JSONField()

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="pending"), name="due_delivery"),
            models.Index(fields=["created_at"], name="delivery_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["pending", "delivered", "failed"]), name="delivery_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"
