"""A round and its parts.

A round goes planned → open → closing → merging → published, or from one of the last two to abandoned. Every step is
one compare-and-set on its row, so that any number of workers may try.
"""

import uuid

from django.db import models
from django.db.models import Count, Q

from coterie.core.durable import Stateful
from coterie.core.separation import Separated
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.merging.models import Merge, Partial, Update, UpdateFacts
from coterie.registry.models import ModelVersion
from coterie_learning.plan import Plan, stored_plan


class Round(Stateful, Separated):
    """One collection of updates that ends in a new model version, or is abandoned with a reason.

    Its assignments are its cohort. A synchronous round merges what its cohort delivered; an asynchronous one what came
    while it was open, from its own cohort and from earlier ones, whose assignments it carries on.
    """

    project_path = "federation__project"

    class State(models.TextChoices):
        """What it waits for."""

        PLANNED = "planned"
        """Its time, or enough devices."""
        OPEN = "open"
        """Updates."""
        CLOSING = "closing"
        """The release of devices that did not deliver, and the decision whether to merge."""
        MERGING = "merging"
        """The end of its merge."""
        PUBLISHED = "published"
        ABANDONED = "abandoned"

    ACTIVE = ("planned", "open", "closing", "merging")

    federation = models.ForeignKey(Federation, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    reason_at = models.DateTimeField(null=True, blank=True)
    opens_at = models.DateTimeField()
    """When it may open at the earliest."""
    opened_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    plan = models.JSONField(null=True, blank=True)
    """The federation's plan when the round opened; later changes do not affect the round."""
    seed = models.PositiveBigIntegerField()
    """Decides who is chosen, and seeds the devices."""
    base_version = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """What updates are differences from; those of groups, from their groups' versions. In asynchronous rounds the
    champion when it opened, and from its merge on that merge's base."""
    merge = models.OneToOneField(Merge, null=True, blank=True, on_delete=models.RESTRICT, related_name="round")
    """The merge of the updates that it took."""
    places = models.PositiveIntegerField(default=0)
    """Devices wanted beyond those that were ready; devices that check in take these places one by one."""
    looked_at = models.DateTimeField(null=True, blank=True)
    """When its members were last searched for devices to invite."""
    at_work = models.PositiveIntegerField(default=0)
    """Live assignments, as of the latest sweep."""
    updates_in = models.PositiveIntegerField(default=0)
    """Updates that it took: incremented with each, so that a delivery does not count them all."""
    gathers_since = models.DateTimeField(null=True, blank=True)
    """Since when an open round accepts no further update, and waits for partial sums of those it has; None: it does
    not wait, or supernodes hold none."""
    carries_on = models.BooleanField(default=False)
    """Whether it is asynchronous: its assignments outlive it, and their updates go into later rounds."""
    tidied_at = models.DateTimeField(null=True, blank=True)
    """When the files of its updates were removed."""
    removed_parts = models.PositiveIntegerField(default=0, db_default=0)
    """Assignments of its cohort that are no longer stored: they delivered nothing, or were folded into updates."""

    class Meta:
        ordering = ["-opens_at", "-number"]
        indexes = [
            models.Index(
                fields=["state"], condition=Q(state__in=["planned", "open", "closing", "merging"]), name="active_round"
            ),
            models.Index(fields=["finished_at"], condition=Q(tidied_at=None), name="untidied_round"),
            models.Index(
                fields=["finished_at", "id"], condition=Q(state__in=["published", "abandoned"]), name="ended_round"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["federation", "number"], name="round_number_once"),
            models.UniqueConstraint(
                fields=["federation"],
                condition=Q(state__in=["planned", "open", "closing", "merging"]),
                name="one_active_round_a_federation",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["planned", "open", "closing", "merging", "published", "abandoned"]),
                name="round_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="abandoned")
                | Q(state__in=["merging", "published"], merge__isnull=False)
                | (Q(state__in=["planned", "open", "closing"]) & Q(merge=None)),
                name="merged_round_has_merge",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["planned", "abandoned"])
                | Q(plan__isnull=False, base_version__isnull=False, deadline_at__isnull=False),
                name="opened_round_is_complete",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.federation} round {self.number}"

    def parsed_plan(self) -> Plan:
        """The plan it is held under; it must have been opened."""
        return stored_plan(self.plan)

    @property
    def result_version(self) -> ModelVersion | None:
        """The version that it ended in."""
        return None if self.merge is None else self.merge.result_version

    def all_parts(self) -> "list[Assignment]":
        """Its cohort, and the assignments of earlier cohorts whose updates it took.

        Assignments that were folded into updates are rebuilt from these, without their seeds, as unsaved instances.
        """
        own = list(self.assignments.all())
        return own + [entry for entry in self.entries.all() if entry.round_id != self.pk] + self._folded_parts()

    def _folded_parts(self) -> "list[Assignment]":
        if self.merge is None:
            return []
        folded = self.merge.updates.filter(offered_at__isnull=False).select_related("device")
        return [_folded_part(update, self) for update in folded.order_by("offered_at", "pk")]

    def updates_by_age(self) -> list[dict[str, int]]:
        """Merged updates by staleness: how many there were, and how many of them were left out."""
        if self.merge is None:
            return []
        counted = self.merge.updates.order_by("staleness").values("staleness")
        rows = counted.annotate(updates=Count("pk"), left_out=Count("pk", filter=~Q(fault_code="")))
        return [{name: row[name] for name in ("staleness", "updates", "left_out")} for row in rows]

    @property
    def duration_s(self) -> float | None:
        """From its opening to its end; None: it has not ended, or never opened."""
        if self.opened_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.opened_at).total_seconds()

    @property
    def metrics(self) -> dict[str, float]:
        """Figures of its merge by name: updates, samples, accuracy before and after; empty before it has ended."""
        return {} if self.merge is None else self.merge.metrics


class Assignment(Stateful, Separated):
    """One device's part in the cohort of one round."""

    project_path = "round__federation__project"

    class State(models.TextChoices):
        """How far it is."""

        OFFERED = "offered"
        """The device has been chosen and has not answered yet."""
        ACCEPTED = "accepted"
        """It works on it."""
        JOINED = "joined"
        """Its update is ready, and it takes part in the round's secure sum."""
        DELIVERED = "delivered"
        """Its update is in."""
        RELEASED = "released"
        """The device released it, or the round went on without it."""
        DROPPED = "dropped"
        """The device fell silent; it may come back while the round is open."""
        REJECTED = "rejected"
        """Its update was wrong."""

    LIVE = ("offered", "accepted")
    UNENDED = (*LIVE, "dropped")
    """States in which it may still deliver: a device that was dropped may come back."""
    IN_VAIN = ("released", "dropped", "rejected")
    """States in which it ended without an update."""

    class Stage(models.TextChoices):
        """What the device reports that it does."""

        ACCEPTED = "accepted"
        TRAINING = "training"
        WAITING = "waiting"
        UPLOADING = "uploading"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="assignments", db_index=False)
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="assignments", db_index=False)
    base_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="+")
    """What its update is a difference from: the round's base, or its group's version when it was invited."""
    teacher = models.ForeignKey(ModelVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The version of the cloud model that it learns from, where the plan has one."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.OFFERED)
    update = models.OneToOneField(Update, null=True, blank=True, on_delete=models.RESTRICT, related_name="assignment")
    """What it delivered; both have the same identity."""
    taken_by = models.ForeignKey(
        Round, null=True, blank=True, on_delete=models.CASCADE, related_name="entries", db_index=False
    )
    """The round that took its update: its own, or a later one; null once delivered: the update waits for a round."""
    seed = models.PositiveBigIntegerField()
    stage = models.CharField(max_length=10, choices=Stage.choices, blank=True)
    steps_done = models.PositiveBigIntegerField(default=0)
    steps_total = models.PositiveBigIntegerField(default=0)
    offered_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    """When its state last changed."""

    class Meta:
        ordering = ["round", "offered_at", "id"]
        indexes = [
            # To count a round's parts without reading them, and to find a device's own among all that it ever had. They
            # and the last constraint find whatever an index of the foreign key alone would.
            models.Index(fields=["round", "state", "stage"], name="part_by_state"),
            models.Index(fields=["device", "state"], name="part_of_device"),
            models.Index(
                fields=["changed_at"], condition=Q(state__in=["released", "dropped", "rejected"]), name="part_in_vain"
            ),
            # What may be folded one day, oldest first; without what never is.
            models.Index(
                fields=["changed_at"],
                condition=Q(state="delivered", update__isnull=False, taken_by__isnull=False, teacher=None),
                name="part_to_fold",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["round", "device"], name="device_once_a_round"),
            models.UniqueConstraint(
                fields=["device"], condition=Q(state__in=["offered", "accepted"]), name="one_live_assignment_a_device"
            ),
            # No device fills a buffer by itself.
            models.UniqueConstraint(
                fields=["taken_by", "device"], condition=Q(taken_by__isnull=False), name="one_update_a_device_and_round"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["offered", "accepted", "joined", "delivered", "released", "dropped", "rejected"]
                ),
                name="assignment_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device} in {self.round}"

    def has_time(self) -> bool:
        """Whether its round, or a later one, takes its update."""
        return self.round.state == Round.State.OPEN or self.round.carries_on


def _folded_part(update: Update, taken_by: Round) -> Assignment:
    assert update.offered_at is not None, "an update with a folded part says when its device was asked"
    return Assignment(
        id=update.pk,
        round_id=update.cohort,
        device=update.device,
        base_version_id=update.base_version_id,
        state=Assignment.State.DELIVERED,
        update=update,
        taken_by=taken_by,
        steps_done=update.steps_done,
        steps_total=update.steps_total,
        offered_at=update.offered_at,
        changed_at=update.received_at,
    )


HAS_TIME = Q(round__state="open") | Q(round__carries_on=True)
"""The filter of `Assignment.has_time`."""


class Route(Separated):
    """How the update of an assignment travels: through a supernode, or directly to the platform.

    Rerouting raises its epoch, by a compare-and-set; what refers to an older epoch is void.
    """

    project_path = "assignment__round__federation__project"

    assignment = models.OneToOneField(Assignment, primary_key=True, on_delete=models.CASCADE, related_name="route")
    supernode = models.ForeignKey(Device, null=True, blank=True, on_delete=models.CASCADE, related_name="routes")
    """None: the update goes directly to the platform."""
    epoch = models.PositiveIntegerField(default=1)
    reason_code = models.CharField(max_length=64)
    reason_sentence = models.CharField(max_length=400)
    changed_at = models.DateTimeField()
    """When it got this epoch."""
    held_at = models.DateTimeField(null=True, blank=True)
    """When the device submitted the supernode's receipt; None: it has not yet."""
    norm = models.FloatField(null=True, blank=True)
    """Of the update, as stated in the receipt."""
    fingerprint = models.JSONField(null=True, blank=True)
    """Of the update, as the device reports it."""
    tier_fingerprints = models.JSONField(default=list, blank=True)
    """Fingerprints by tier, with which supernodes check sums that contain the update; empty where the plan has no
    tiers, or its agent reports none."""

    class Meta:
        ordering = ["assignment"]
        constraints = [
            models.CheckConstraint(
                condition=Q(held_at=None) | Q(supernode__isnull=False, norm__isnull=False, fingerprint__isnull=False),
                name="held_update_has_its_figures",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment} by {self.supernode or 'itself'}"


class Fold(Stateful, Separated):
    """The sum that was requested of a supernode: asked → accepted, or void with a reason.

    A sum that goes through another supernode: asked → held, and it counts once that supernode's sum is accepted. It is
    rerouted by a compare-and-set that raises its epoch.
    """

    project_path = "round__federation__project"

    class State(models.TextChoices):
        """How far it is."""

        ASKED = "asked"
        HELD = "held"
        ACCEPTED = "accepted"
        VOID = "void"

    LIVE = ("asked", "held", "accepted")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="folds")
    supernode = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="folds")
    shares = models.JSONField()
    """As `coterie_wire.relaying.Weighed`."""
    parent = models.ForeignKey(Device, null=True, blank=True, on_delete=models.CASCADE, related_name="folds_taken")
    """The supernode whose sum it goes into; None: it is sent to the platform."""
    tier = models.PositiveSmallIntegerField(default=0)
    """0: a sum of updates only; n: its supernode is that of a group of the plan's tier n."""
    epoch = models.PositiveIntegerField(default=1)
    """Of its route."""
    way_code = models.CharField(max_length=64, blank=True)
    way_sentence = models.CharField(max_length=400, blank=True)
    """Why it has this route; blank where the plan has no tiers."""
    held_at = models.DateTimeField(null=True, blank=True)
    """When the parent's receipt was submitted."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    asked_at = models.DateTimeField()
    """When it was requested, or last rerouted."""
    missed_since = models.DateTimeField(null=True, blank=True)
    """Since when its supernode is missed (see `coterie.rounds.lost_supernodes`); null: it checks in as expected."""
    sha256 = models.CharField(max_length=64, blank=True)
    """Of the sum that the supernode offered; blank: none yet."""
    size_bytes = models.PositiveBigIntegerField(default=0)
    partial = models.OneToOneField(Partial, null=True, blank=True, on_delete=models.RESTRICT, related_name="fold")

    class Meta:
        ordering = ["-asked_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["round", "supernode"],
                condition=Q(state__in=["asked", "held", "accepted"]),
                name="one_fold_a_supernode",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["asked", "held", "accepted", "void"]), name="fold_state_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="held") | Q(parent__isnull=False, held_at__isnull=False),
                name="held_fold_has_its_parent",
            ),
            models.CheckConstraint(
                condition=Q(state="accepted", partial__isnull=False) | (~Q(state="accepted") & Q(partial=None)),
                name="accepted_fold_has_partial",
            ),
        ]

    def __str__(self) -> str:
        return f"sum by {self.supernode} for {self.round}"


class RoundEvent(Separated):
    """Something that happened in a round, from which it can be replayed; stored for a while after its end."""

    project_path = "round__federation__project"

    class Kind(models.TextChoices):
        """Of the round itself, or of one device's part in it."""

        PLANNED = "planned"
        WAITS = "waits"
        """The round waits for another reason than before."""
        OPEN = "open"
        CLOSING = "closing"
        MERGING = "merging"
        PUBLISHED = "published"
        ABANDONED = "abandoned"
        ASKED = "asked"
        ACCEPTED = "accepted"
        TRAINING = "training"
        WAITING = "waiting"
        """The device's conditions were lost; training is held."""
        UPLOADING = "uploading"
        JOINED = "joined"
        """The device has trained and waits to be summed with others."""
        DELIVERED = "delivered"
        RELEASED = "released"
        DROPPED = "dropped"
        BACK = "back"
        """A device that was dropped checks in again."""
        REJECTED = "rejected"
        SUSPECTED = "suspected"
        """Another device reports that this one's models were far off those of the others."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    device = models.ForeignKey(Device, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    """Whose part it is; none: the round's own."""
    reason_code = models.CharField(max_length=64, blank=True)
    reason_sentence = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["round", "id"]
        indexes = [models.Index(fields=["round", "id"], name="event_of_round")]

    def __str__(self) -> str:
        return f"{self.kind} in {self.round}"


class Steering(models.Model):
    """When the devices of a federation, or all that are in none, check in next in a large fleet.

    Computed by `coterie_learning.pace.steer`, periodically; not updated while the fleet is small.
    """

    federation = models.OneToOneField(
        Federation, null=True, blank=True, on_delete=models.CASCADE, related_name="steering"
    )
    """None: the devices that are in no federation."""
    devices = models.PositiveIntegerField()
    """Members that were present."""
    shares = models.JSONField(default=list, blank=True)
    """By hour of the week, the share of them that was eligible; null: not observed yet."""
    interval_s = models.FloatField()
    """From one check-in of a device to its next, on average."""
    meets = models.BooleanField()
    """Whether devices that cannot be woken are to check in at the same time."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "steering"

    def __str__(self) -> str:
        return f"steering of {self.federation or 'all others'}"


class Upload(UpdateFacts, Separated):
    """An update that is being uploaded; how much of it has arrived is the size of its file."""

    project_path = "assignment__round__federation__project"

    assignment = models.OneToOneField(Assignment, primary_key=True, on_delete=models.CASCADE, related_name="upload")
    offered_at = models.DateTimeField()

    class Meta:
        ordering = ["-offered_at"]

    def __str__(self) -> str:
        return f"upload of {self.assignment}"
