"""What a fleet learns: pairs of a cloud and a device model, their versions, and the data sets given by operators."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from django.db import models
from django.db.models import Q
from django.db.models.base import ModelBase

from coterie.core.archiving import Archivable
from coterie.core.separation import ProjectRoot, Separated
from coterie.registry.errors import Immutable
from coterie_wire.bundle import BlobRef, ModelSpec, TensorSpec
from coterie_wire.structs import from_values


class Blob(models.Model):
    """Bytes that the registry stores, by their SHA-256."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()
    kept_at = models.DateTimeField(null=True, blank=True)
    """When the same bytes were last stored again; None: never since."""
    removed_at = models.DateTimeField(null=True, blank=True)
    """When the bytes were removed, since they were not in use; None: they are there."""
    verified_at = models.DateTimeField(null=True, blank=True)
    """When scrubbing last compared them with their hash; None: not yet."""
    damaged_at = models.DateTimeField(null=True, blank=True)
    """When they were found to be damaged or lost; None: they are not."""

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.sha256[:12]

    def reference(self) -> BlobRef:
        """As a manifest writes it."""
        return BlobRef(sha256=self.sha256, size_bytes=self.size_bytes)


class ModelPair(Archivable, ProjectRoot):
    """A cloud model and the device model that learns from it: their programs, and the graphs made of the device's."""

    class State(models.TextChoices):
        """Whether the pair passed its pre-flight."""

        CHECKING = "checking"
        READY = "ready"
        REJECTED = "rejected"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=100)
    state = models.CharField(max_length=10, choices=State.choices, default=State.CHECKING)
    reason_code = models.CharField(max_length=64, blank=True)
    reason_sentence = models.TextField(blank=True)
    """Why it was rejected."""
    reason_fields = models.JSONField(default=dict, blank=True)
    """What the sentence is about, by the names that the error gives it: operator, module, reason."""
    labels = models.JSONField()
    """The name of each class: a list of strings."""
    batch_size = models.PositiveIntegerField()
    """Samples in one train step."""
    device_program = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    cloud_program = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    spec = models.JSONField(null=True, blank=True)
    """A `coterie_wire.bundle.ModelSpec`, once compiled."""
    train_step = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    predict = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    initial_parameters = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The device model's submitted parameters, with which distillation begins."""
    initial_cloud_parameters = models.ForeignKey(
        Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    """The cloud model's submitted parameters; None where an earlier release checked the pair."""
    teacher_predict = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The cloud model's prediction graph, for devices that learn from it; none where it cannot be compiled."""
    teacher_parameters = models.JSONField(null=True, blank=True)
    """Its parameters, a list of `coterie_wire.bundle.TensorSpec`."""
    recipe = models.JSONField(default=dict)
    """A `coterie.compile.recipe.Recipe` with every setting written out: what the train step is compiled for."""
    frozen = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The tensors of the device model that no training changes, if there are any."""
    loss_program = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The loss that the recipe calls `custom`, as a program; none where it has another."""
    report = models.JSONField(default=dict, blank=True)
    """What the pre-flight measured."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "slug"]
        constraints = [
            # A rejected pair does not reserve its name.
            models.UniqueConstraint(
                fields=["project", "slug"], condition=~Q(state="rejected"), name="pair_slug_once_a_project"
            ),
            models.CheckConstraint(condition=Q(state__in=["checking", "ready", "rejected"]), name="pair_state_known"),
            models.CheckConstraint(
                condition=~Q(state="ready")
                | Q(
                    spec__isnull=False,
                    train_step__isnull=False,
                    predict__isnull=False,
                    initial_parameters__isnull=False,
                ),
                name="ready_pair_is_compiled",
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    def model_spec(self) -> ModelSpec:
        """The contract of the compiled graphs; the pair must be ready."""
        return from_values(self.spec, ModelSpec)

    def teacher_specs(self) -> tuple[TensorSpec, ...]:
        """The parameters that the teacher's graph takes; the pair must have one."""
        return from_values(self.teacher_parameters, tuple[TensorSpec, ...])


class Role(models.TextChoices):
    """Which model of a pair."""

    DEVICE = "device"
    CLOUD = "cloud"


BASE = ""
"""The pair's own lineage, which serves every device without a group; a group's lineage has the group's name.

Lineages of a federation with versions of its own begin with its slug: ``trial/base``, ``trial/group-1``.
"""
MAX_LINEAGE = 150


NEXT_BOUND = "clipping_norm"
"""The figure of a version to whose value updates from it are clipped, where the plan adapts the norm."""
ORDINARY_NORM = "ordinary_norm"
"""The figure of a version that updates made from it may always have as their norm, as those before it had."""

Metric: TypeAlias = float | Sequence[float | None] | Mapping[str, object]
"""A figure of a version; of ``class_accuracy``, one for each class, None where it was not measured; ``confusion`` is a
`coterie.evaluation.confusion.Confusion`."""


class ModelVersion(Separated):
    """One set of parameters in a lineage. Its row never changes."""

    project_path = "pair__project"

    class Origin(models.TextChoices):
        """What made it."""

        BOOTSTRAP = "bootstrap"
        UPLOAD = "upload"
        """The weights with which the pair was submitted."""
        DISTILLATION = "distillation"
        MERGE = "merge"
        SPLIT = "split"
        """A group's first: its parent is the base's."""
        COPY = "copy"
        """The parameters of its parent, in another lineage: a federation's first, or what the pair takes over."""
        REBUILD = "rebuild"
        """Made without a device that was forgotten: its parent is the version before that device's first update."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pair = models.ForeignKey(ModelPair, on_delete=models.PROTECT, related_name="versions")
    role = models.CharField(max_length=10, choices=Role.choices)
    lineage = models.CharField(max_length=MAX_LINEAGE, blank=True, default=BASE)
    """The federation or group that it serves; blank: the pair's own."""
    number = models.PositiveIntegerField()
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    origin = models.CharField(max_length=15, choices=Origin.choices)
    parameters = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    server_state = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The server state of the merge that made it, which the next merge continues from. None: there is none."""
    metrics = models.JSONField(default=dict, blank=True)
    """Each a `Metric`, by name: ``{"accuracy": 0.93, "class_accuracy": [0.9, 0.96]}``."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["pair", "role", "lineage", "number"], name="version_number_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="version_role_known"),
            models.CheckConstraint(
                condition=Q(origin__in=["bootstrap", "upload", "distillation", "merge", "split", "copy", "rebuild"]),
                name="version_origin_known",
            ),
        ]

    def __str__(self) -> str:
        lineage = f" {self.lineage}" if self.lineage else ""
        return f"{self.pair}{lineage} {self.role} {self.number}"

    def save(
        self,
        *,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Insert it. Raises Immutable if it has been inserted before."""
        if not self._state.adding:
            raise Immutable(version=str(self.pk))
        super().save(
            force_insert=force_insert or True, force_update=force_update, using=using, update_fields=update_fields
        )

    def described(self) -> "Description":
        """Its name and notes; where there are none, a blank instance that is not stored."""
        try:
            return self.description
        except Description.DoesNotExist:
            return Description(version=self)


class Description(Archivable, Separated):
    """A version's name and notes; beside the version, whose row never changes."""

    project_path = "version__pair__project"

    version = models.OneToOneField(ModelVersion, primary_key=True, on_delete=models.CASCADE, related_name="description")
    name = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["version"]

    def __str__(self) -> str:
        return f"description of {self.version}"


class Alias(Separated):
    """A name that moves between the versions of a pair."""

    project_path = "pair__project"

    class Name(models.TextChoices):
        """What the name means."""

        CHAMPION = "champion"
        """The version in use."""

    pair = models.ForeignKey(ModelPair, on_delete=models.CASCADE, related_name="aliases")
    role = models.CharField(max_length=10, choices=Role.choices)
    lineage = models.CharField(max_length=MAX_LINEAGE, blank=True, default=BASE)
    name = models.CharField(max_length=20, choices=Name.choices)
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="aliases")
    moved_at = models.DateTimeField()

    class Meta:
        ordering = ["pair", "role", "lineage", "name"]
        verbose_name_plural = "aliases"
        constraints = [models.UniqueConstraint(fields=["pair", "role", "lineage", "name"], name="alias_once")]

    def __str__(self) -> str:
        lineage = f" {self.lineage}" if self.lineage else ""
        return f"{self.name} of {self.pair}{lineage} {self.role}"


class Withdrawal(Separated):
    """A version of a device model that was rolled back: personal models that devices trained from it are dropped."""

    project_path = "version__pair__project"

    version = models.OneToOneField(ModelVersion, primary_key=True, on_delete=models.CASCADE, related_name="withdrawal")
    withdrawn_at = models.DateTimeField()

    class Meta:
        ordering = ["-withdrawn_at"]

    def __str__(self) -> str:
        return f"withdrawal of {self.version}"


class TeacherWeights(Separated):
    """A version of a cloud model with a byte a parameter, as devices download it; made when the first device asks."""

    project_path = "version__pair__project"

    version = models.OneToOneField(ModelVersion, primary_key=True, on_delete=models.CASCADE, related_name="weights")
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    class Meta:
        verbose_name_plural = "teacher weights"

    def __str__(self) -> str:
        return f"weights of {self.version}"


class VersionDifference(Separated):
    """How a version of a device model was published as a difference from its parent, as devices download it."""

    project_path = "version__pair__project"

    version = models.OneToOneField(ModelVersion, primary_key=True, on_delete=models.CASCADE, related_name="difference")
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    codec = models.CharField(max_length=100)
    """The kind that encoded it, which a device needs."""
    residual = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The encoding error against the merge's result, which the next difference includes. None: none is stored."""

    def __str__(self) -> str:
        return f"difference to {self.version}"


class Variant(Separated):
    """A smaller form of a version of a device model, which includes its parameters; or why there is none."""

    project_path = "version__pair__project"

    class Name(models.TextChoices):
        """What is smaller."""

        INT8 = "int8"

    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="variants")
    name = models.CharField(max_length=10, choices=Name.choices)
    graph = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """An ONNX graph that takes the model's inputs and gives its output; none where none is offered."""
    reason_code = models.CharField(max_length=64, blank=True)
    reason_sentence = models.TextField(blank=True)
    """Why none is offered."""
    measured = models.JSONField()
    """A `coterie.cloud.quantise_job.QuantiseResult`."""
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["version", "name"]
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="variant_once"),
            models.CheckConstraint(condition=Q(name__in=["int8"]), name="variant_name_known"),
            models.CheckConstraint(
                condition=Q(graph__isnull=False, reason_code="") | (Q(graph__isnull=True) & ~Q(reason_code="")),
                name="variant_or_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.version}"


class Dataset(ProjectRoot):
    """Samples that an operator gave the platform: to bootstrap a cloud model, or held out to measure with."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    rows = models.PositiveBigIntegerField()
    inputs = models.JSONField()
    """A list of `coterie_wire.bundle.TensorSpec`, of one sample: ``x``, or each input of a model by its name."""
    target_shape = models.JSONField(default=list)
    """Shape of one sample's target: empty for a class."""
    target_dtype = models.CharField(max_length=10, default="int64")
    classes = models.PositiveIntegerField()
    """One more than the largest target where they are whole numbers, else 0."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "name"]

    def __str__(self) -> str:
        return self.name

    def input_specs(self) -> Mapping[str, TensorSpec]:
        """What a sample has, by name."""
        return {spec.name: spec for spec in from_values(self.inputs, tuple[TensorSpec, ...])}
