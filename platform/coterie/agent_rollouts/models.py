"""Roll-outs of agent releases, and each device's part in them."""

import uuid

from django.db import models
from django.db.models import Q

from coterie.core.durable import Stateful
from coterie.core.separation import ProjectRoot, Separated
from coterie.fleet.models import Device

ABSENT_S = 7 * 86_400.0
"""The default number of seconds for which a phase waits."""


class AgentRollout(Stateful, ProjectRoot):
    """A release that a growing share of some devices is asked to install."""

    class State(models.TextChoices):
        """How far it is."""

        RUNNING = "running"
        PAUSED = "paused"
        """No further device is asked, and those that have not begun wait: by an operator, or as many are absent."""
        DONE = "done"
        """All devices were asked, and the last phase succeeded."""
        ROLLED_BACK = "rolled_back"
        """Devices go back to the agent that they had before."""
        STOPPED = "stopped"
        """By an operator: no other device is asked, and those that have it keep it."""

    ACTIVE = ("running", "paused")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.CharField(max_length=40)
    """Of the agent release."""
    tag = models.CharField(max_length=50, blank=True)
    """Whose devices; blank: all of the project's."""
    device = models.ForeignKey(Device, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    """The only device that it is for; null: it is for all with the tag."""
    phases = models.JSONField()
    """Shares of the devices, ascending; the last is what it ends with."""
    phase = models.PositiveSmallIntegerField(default=0)
    """Index of the current share in `phases`."""
    hold_s = models.FloatField()
    """Seconds for which a phase is observed before the next."""
    probation_s = models.FloatField()
    """Seconds within which the new agent must check in on a device."""
    absent_s = models.FloatField(default=ABSENT_S, db_default=ABSENT_S)
    """Seconds for which a phase waits for the first of its devices to have it, before the roll-out is paused."""
    most_failures = models.FloatField()
    """Share of the devices that have tried it which may fail."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.RUNNING)
    created_at = models.DateTimeField()
    phase_since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    """Number of devices by state; ``devices``: how many can be asked; ``left_out``: why others cannot, by code; of the
    current phase ``phase_devices``, ``phase_answered`` and ``phase_absent``."""

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project"], condition=Q(state__in=["running", "paused"]), name="one_agent_rollout_a_project"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["running", "paused", "done", "rolled_back", "stopped"]),
                name="agent_rollout_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"agent {self.version}"

    def share(self) -> float:
        """The share of the devices that is asked in the current phase."""
        return float(self.phases[self.phase])


class DeviceUpdate(Stateful, Separated):
    """One device's part in a roll-out of an agent."""

    project_path = "rollout__project"

    class State(models.TextChoices):
        """How far it is."""

        ASKED = "asked"
        WAITING = "waiting"
        """It waits for its owner's consent or hours, or for a round to end."""
        INSTALLED = "installed"
        REFUSED = "refused"
        """It has installed nothing; see the reason."""
        FAILED = "failed"
        """The device has gone back by itself."""
        RETURNED = "returned"
        """It went back because the platform asked it to."""

    OPEN = ("asked", "waiting")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    rollout = models.ForeignKey(AgentRollout, on_delete=models.CASCADE, related_name="updates")
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="agent_updates")
    phase = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The phase in which it was asked."""
    former = models.CharField(max_length=40)
    """Version of the agent that it had when it was asked."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.ASKED)
    asked_at = models.DateTimeField()
    installed_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["rollout", "asked_at", "id"]
        constraints = [models.UniqueConstraint(fields=["rollout", "device"], name="device_once_an_agent_rollout")]
        indexes = [
            models.Index(fields=["device", "state"], name="agent_update_of_device"),
            # It covers the counts of a roll-out, and finds those of one state.
            models.Index(fields=["rollout", "state", "device"], name="agent_update_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.device}: {self.rollout}"
