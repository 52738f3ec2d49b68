"""Webhooks, and each delivery with its outcome."""

import uuid

from django.db import models
from django.db.models import Q


class Event(models.TextChoices):
    """Events that can be delivered."""

    ROUND_PUBLISHED = "round.published"
    ROLLOUT_ENDED = "rollout.ended"
    DEVICE_DRIFTED = "device.drifted"
    TRANSFER_JUDGED = "transfer.judged"
    JOB_FAILED = "job.failed"
    TEST = "test"
    """Somebody pressed the button."""


class Webhook(models.Model):
    """A URL to which some events are delivered."""

    name = models.CharField(max_length=100, unique=True)
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    """A list of `Event`."""
    secret = models.CharField(max_length=100, editable=False)
    """Signs the deliveries (`coterie.webhooks.signing`), so it is kept as it is; it is shown once."""
    is_active = models.BooleanField(default=True)
    held_until = models.DateTimeField(null=True, blank=True, editable=False)
    """While one worker calls it, none else does; a worker that holds it for longer has died."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One event for one webhook."""

    class State(models.TextChoices):
        """How far it is."""

        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, choices=Event.choices)
    body = models.JSONField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    """When it is tried next, or taken up again if the worker that tries it dies; none: it has ended."""
    status = models.PositiveIntegerField(null=True, blank=True)
    """HTTP status of the latest answer; none: there was none."""
    problem = models.CharField(max_length=400, blank=True)
    """What was wrong the latest time."""
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

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
