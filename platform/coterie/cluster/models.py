"""Hosts that take workers, and the gangs of workers that wait for them or hold them."""

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from coterie.core.durable import Stateful
from coterie.core.lease import LEASE

LOST_AFTER: timedelta = LEASE
"""A host that was not renewed for so long is lost."""
QUEUE = "train."
"""Prefix of the name of a host's Celery queue."""


class Host(models.Model):
    """A machine on which a Celery worker runs; several of one machine are one host."""

    name = models.CharField(primary_key=True, max_length=100)
    rack = models.CharField(max_length=100, blank=True)
    """Hosts of one rack are near each other."""
    address = models.CharField(max_length=255, blank=True)
    """Address at which other hosts' workers reach its own; blank: they cannot, and it takes whole gangs only."""
    launcher = models.CharField(max_length=20, default="here")
    """Who starts the workers of gangs that it leads: itself, or the scheduler of another cluster."""
    places = models.PositiveIntegerField()
    """Workers of gangs that it takes at a time."""
    cores = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    """GPUs that its children can compute on."""
    memory_bytes = models.PositiveBigIntegerField()
    since = models.DateTimeField()
    """When it was registered, or came back."""
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [models.CheckConstraint(condition=Q(places__gte=1), name="host_has_a_place")]

    def __str__(self) -> str:
        return self.name

    def is_present(self, now: datetime) -> bool:
        """Whether it was renewed a moment ago."""
        return self.seen_at >= now - LOST_AFTER

    @property
    def queue(self) -> str:
        """The Celery queue that only workers of this host take tasks from."""
        return queue_of(self.name)


def queue_of(host: str) -> str:
    """The Celery queue of a host."""
    return f"{QUEUE}{host}"


class Gang(Stateful):
    """The workers of one training job: all of them have their places, or none."""

    class State(models.TextChoices):
        """How far it is."""

        WAITING = "waiting"
        PLACED = "placed"
        LEAVING = "leaving"
        """It saves a checkpoint; then it waits again."""
        ENDED = "ended"

    ACTIVE = ("waiting", "placed", "leaving")
    HOLDING = ("placed", "leaving")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.UUIDField(unique=True)
    """The job that the workers belong to."""
    label = models.CharField(max_length=200)
    """Name of the job for people."""
    team = models.CharField(max_length=40, blank=True)
    priority = models.SmallIntegerField(default=0)
    ranks = models.PositiveIntegerField()
    """How many workers."""
    spreads = models.BooleanField()
    """Whether they may be on several hosts."""
    launcher = models.CharField(max_length=20, blank=True)
    """Who is to start them, as hosts name it; blank: any host with room."""
    device = models.CharField(max_length=5, db_default="auto")
    """What its workers compute on, as `coterie.cluster.schedule.Device` names it."""
    small = models.BooleanField(default=False)
    """It takes seconds; every host has room for one beside its places."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    came = models.DateTimeField(db_default=Now())
    """When it first began to wait, which is its place in the queue; a gang that makes room for others keeps it."""
    since = models.DateTimeField()
    """When its current wait began."""
    not_before = models.DateTimeField()
    """After a failure it waits for a while."""
    placed_at = models.DateTimeField(null=True, blank=True)
    leaves_by = models.DateTimeField(null=True, blank=True)
    """When a leaving gang is stopped, whether it has saved or not."""
    ended_at = models.DateTimeField(null=True, blank=True)
    placements = models.PositiveIntegerField(default=0)
    """How often it was placed; messages of another placement are out of date."""
    failures = models.PositiveIntegerField(default=0)
    """Since it was added or was told to leave."""
    postponements = models.PositiveIntegerField(default=0, db_default=0)
    """How often it has waited for a missing resource, as in `coterie.core.postponing`."""
    avoids = models.JSONField(default=list, blank=True)
    """Names of hosts on which it failed."""
    place_s = models.FloatField(default=0.0)
    """Seconds that its workers had their places, summed over workers and former placements."""
    gpu_s = models.FloatField(default=0.0)
    """The same of their GPUs."""

    class Meta:
        ordering = ["-since", "-id"]
        indexes = [
            models.Index(fields=["state"], condition=Q(state__in=["waiting", "placed", "leaving"]), name="active_gang"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "placed", "leaving", "ended"]), name="gang_state_known"
            ),
            models.CheckConstraint(condition=Q(ranks__gte=1), name="gang_has_a_worker"),
        ]

    def __str__(self) -> str:
        return self.label


class GangShare(models.Model):
    """The workers of a placed gang that one host runs; the first of a gang leads it."""

    gang = models.ForeignKey(Gang, on_delete=models.CASCADE, related_name="shares")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="shares")
    ranks = models.PositiveIntegerField()
    gpus = models.JSONField(default=list, db_default=Value([], models.JSONField()), blank=True)
    """Numbers of the host's GPUs, one for each worker; empty: they compute on cores."""
    joined_at = models.DateTimeField(null=True, blank=True)
    """When its host began; a task that is delivered twice begins nothing."""

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["gang", "host"], name="one_share_a_host")]

    def __str__(self) -> str:
        return f"{self.ranks} of {self.gang} on {self.host_id}"
