"""The result of a merge: new parameters in the registry, in no version yet, and its figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from coterie.cloud import averaging_job, distill_merge_job
from coterie.cloud.averaging_job import ComparedUpdate
from coterie.cloud.distill_merge_job import UsedModel
from coterie.registry.models import Blob, Metric, ModelVersion
from coterie.registry.services import EncodedDifference
from coterie_wire.conditions import Reason

Quality = averaging_job.Quality | distill_merge_job.Quality


@dataclass(frozen=True)
class Candidate:
    """A possible next version of one model."""

    parent: ModelVersion
    """The version from which it was made, of the same model."""
    lineage: str
    """The lineage in which it may become a version: the parent's, or that of a new group."""
    parameters: Blob
    before: Quality | None = None
    """Of the parent on the held-out data; None: there is none."""
    after: Quality | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """Of the version that it becomes."""
    server_state: Blob | None = None
    """The server state beside that version."""
    difference: EncodedDifference | None = None
    """The difference of its parameters from the parent's, where versions travel as differences."""


@dataclass(frozen=True)
class FoundSplit:
    """The division of the devices into groups."""

    lineages: Mapping[UUID, str]
    """By device, the name of its group; blank: none."""
    silhouettes: Mapping[str, float]
    distances: Mapping[str, Mapping[str, float]]
    reason: Reason


@dataclass(frozen=True)
class MergeOutcome:
    """The result of a merge, by averaging or by distillation."""

    base: tuple[Candidate, ...]
    """Candidates for the base's models, published together or not at all; the device model's is the last."""
    groups: tuple[Candidate, ...]
    """Candidates for the groups' models, which are published with the base's."""
    figures: Mapping[str, float]
    """Of the merge and of the base's device model."""
    judged: Mapping[UUID, UsedModel] = field(default_factory=dict)
    """By update, where the merge evaluates each."""
    compared: Mapping[UUID, ComparedUpdate] = field(default_factory=dict)
    """By update, where the merge compares them."""
    faults: Mapping[UUID, Reason] = field(default_factory=dict)
    """By update that was left out, why."""
    summed: str = ""
    """A digest of what was summed, where the plan's releases are a stream."""
    split: FoundSplit | None = None
    """None: the plan has one group."""
