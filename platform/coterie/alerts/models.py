"""Channels, rules, the incidents that rules found, and the notices of them."""

from typing import ClassVar
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import Q

from coterie.alerts.quiet import QuietHours
from coterie.core.separation import ProjectRoot, Separated
from coterie.federations.models import Federation
from coterie.webhooks.outgoing import Outgoing, Receiver


class Channel(Receiver, ProjectRoot):
    """Where people are notified."""

    class Kind(models.TextChoices):
        """By what service a channel delivers its messages."""

        EMAIL = "email"
        SLACK = "slack"
        TEAMS = "teams"
        WEBHOOK = "webhook"

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    recipients = models.JSONField(default=list)
    """Addresses of e-mail: a list of strings."""
    url = models.CharField(max_length=1000, blank=True, editable=False)
    """Of the others; everyone who knows it can post there, so it is not shown."""
    place = models.CharField(max_length=300, blank=True)
    """The shown form of `url`: its host, and the beginning of its hash."""
    secret = models.CharField(max_length=100, blank=True, editable=False)
    """Signs what webhooks are sent (`coterie.webhooks.signing`); shown once."""
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    """Between them notices are held, and sent together afterwards; both or neither."""
    time_zone = models.CharField(max_length=60, default="UTC")
    """IANA's name of the zone whose clocks count, and in which messages give times."""
    is_active = models.BooleanField(default=True)
    """A paused channel gets no notices, not even later."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="channel_name_once"),
            models.CheckConstraint(
                condition=Q(kind__in=["email", "slack", "teams", "webhook"]), name="channel_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="quiet_hours_have_both_ends",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def quiet_hours(self) -> QuietHours | None:
        """Its quiet hours, if it has any."""
        if self.quiet_from is None or self.quiet_until is None:
            return None
        return QuietHours(self.quiet_from, self.quiet_until, ZoneInfo(self.time_zone))


class Severity(models.TextChoices):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


class Rule(ProjectRoot):
    """What is watched for, and which channels are notified."""

    class Kind(models.TextChoices):
        """What is looked at; all but the first two compare with `threshold`."""

        REPAIR = "repair"
        """A fault among the repairs, of a code or severity."""
        JOB_FAILED = "job_failed"
        ACCURACY_BELOW = "accuracy_below"
        """The champion's accuracy, as a share of 1."""
        ONLINE_BELOW = "online_below"
        """Devices that are present, as a share of those enrolled."""
        UNPUBLISHED_FOR = "unpublished_for"
        """Hours since a running federation published a round."""
        ROUNDS_LEFT_BELOW = "rounds_left_below"
        """Rounds that the privacy budgets still pay."""

    COMPARING: ClassVar[frozenset[str]] = frozenset(
        {Kind.ACCURACY_BELOW, Kind.ONLINE_BELOW, Kind.UNPUBLISHED_FOR, Kind.ROUNDS_LEFT_BELOW}
    )

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    code = models.CharField(max_length=100, blank=True)
    """Of repairs: their code, or the kind of fault, as ``devices_silent``; blank: any."""
    least = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    """Of repairs: error, or warnings as well."""
    federation = models.ForeignKey(Federation, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    """The only federation that is watched; none: all, and the whole fleet."""
    threshold = models.FloatField(null=True, blank=True)
    severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    """Of what it finds; repairs and jobs bring their own."""
    channels = models.JSONField(default=list)
    """Keys of `Channel`: a list of integers, so that the audit log shows what was changed."""
    is_active = models.BooleanField(default=True)
    looked_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When the rule was last evaluated."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="rule_name_once"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        "repair",
                        "job_failed",
                        "accuracy_below",
                        "online_below",
                        "unpublished_for",
                        "rounds_left_below",
                    ]
                ),
                name="rule_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Incident(Separated):
    """The time from when a rule found something until it was over."""

    project_path = "rule__project"

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="incidents")
    key = models.CharField(max_length=150)
    """The same as long as it is the same fault."""
    severity = models.CharField(max_length=10, choices=Severity.choices)
    sentence = models.CharField(max_length=500)
    """As at its beginning."""
    path = models.CharField(max_length=200, blank=True)
    """Of the REST API, of what it is about; blank: nothing of its own."""
    began_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-began_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "key"], condition=Q(resolved_at=None), name="one_open_incident_of_a_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.key}"


class Message(Outgoing, Separated):
    """What is sent to a channel together: one notice, or those that arrived at the same time or were held."""

    project_path = "channel__project"

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="messages")

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="pending"), name="due_message"),
            models.Index(fields=["channel", "created_at"], name="message_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["pending", "delivered", "failed"]), name="message_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"message to {self.channel}"


class Notice(Separated):
    """One line of the log: what a channel is notified of, and by which message."""

    project_path = "channel__project"

    class Change(models.TextChoices):
        """What happened."""

        FIRING = "firing"
        RESOLVED = "resolved"
        TEST = "test"
        """Somebody pressed the button."""

    incident = models.ForeignKey(Incident, null=True, blank=True, on_delete=models.SET_NULL, related_name="notices")
    """None: a test, or its rule was removed."""
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="notices")
    message = models.ForeignKey(Message, null=True, blank=True, on_delete=models.CASCADE, related_name="notices")
    """None: it is held."""
    rule_name = models.CharField(max_length=100)
    """As it was called; of a test blank."""
    change = models.CharField(max_length=10, choices=Change.choices)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    sentence = models.CharField(max_length=500)
    path = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["channel"], condition=Q(message=None), name="held_notice"),
            models.Index(fields=["created_at"], name="notice_by_age"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["incident", "channel", "change"], name="told_once_of_each_change"),
            models.CheckConstraint(condition=Q(change__in=["firing", "resolved", "test"]), name="notice_change_known"),
        ]

    def __str__(self) -> str:
        return f"{self.change}: {self.sentence}"
