"""Job: merge the updates of a round into new parameters, and measure them; NumPy and onnxruntime, never PyTorch."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.core.errors import CoterieError, ErrorKind
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef, ModelSpec, Sha256


class UpdateChanged(CoterieError):
    """Fields: sha256 (which it should have), detail."""

    code = "merge.update_changed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Stored update {sha256} cannot be read as it was accepted: {detail}."


class BlobDamaged(CoterieError):
    """Fields: sha256 (which it should have), detail."""

    code = "merge.blob_damaged"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Blob {sha256}, which the merge begins with, cannot be read as it was stored: {detail}."


class NoUpdateLeft(CoterieError):
    """Fields: updates, first (what is wrong with the first of them)."""

    code = "merge.no_update_left"
    kind = ErrorKind.INVALID
    sentence = "None of the {updates} updates can be merged; the first: {first}."


class TooFewUpdates(CoterieError):
    """Fields: sentence."""

    code = "merge.too_few_updates"
    kind = ErrorKind.INVALID
    sentence = "The updates are too few to be merged: {sentence}."


class SumWrong(CoterieError):
    """Fields: sentence."""

    code = "merge.sum_wrong"
    kind = ErrorKind.INVALID
    sentence = "The masked updates sum to nothing that devices send: {sentence}."


class PartialOutdated(CoterieError):
    """Since partial aggregates were requested, another update was left out or added than those that were counted on."""

    code = "merge.partial_outdated"
    kind = ErrorKind.INVALID
    sentence = "A partial aggregate was summed with other weights than the updates of its merge have now."


class NotFinite(CoterieError):
    """Fields: tensor."""

    code = "merge.not_finite"
    kind = ErrorKind.INVALID
    sentence = "The merged parameters hold a number that is not finite, in tensor {tensor}."


class StoredUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An accepted update's file."""

    path: ReadPath
    sha256: Sha256
    samples: int
    classes: tuple[int, ...] = ()
    """Classes whose rows of the output layer it holds, where the plan customises it."""
    discount: Annotated[int, Meta(ge=0, le=FULL_WEIGHT)] = FULL_WEIGHT
    """Its weight, in units of which an update that is neither stale nor clipped has `FULL_WEIGHT`."""
    devices: int = 1
    """How many devices' updates it is the mean of."""
    norm: float | None = None
    """The norm, measured when every number of the file was checked; None: it was not checked yet."""


class RelayedUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An update that a supernode verified and summed."""

    sha256: Sha256
    samples: int
    norm: float
    weight: int
    """Its weight in the sum; 0: it was left out."""


class StoredPartial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An accepted partial aggregate's file."""

    path: ReadPath
    sha256: Sha256
    of: str
    """The identifier of the sum, as its file states it."""
    updates: tuple[RelayedUpdate, ...]


class StoredBlob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file with a known hash."""

    path: ReadPath
    sha256: Sha256


class Mask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mask that a secure sum contains."""

    seed: bytes
    is_added: bool
    """Whether it was added to the sum, or subtracted from it."""


class MaskedSum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The inputs to unmask a secure sum."""

    vectors: tuple[StoredBlob, ...]
    """The masked vectors of its devices."""
    masks: tuple[Mask, ...]
    digest: bytes
    """Digest of the list of members for which the vectors were masked."""
    members: int
    """Length of that list."""
    seed: int
    """Seed of the rotation; see `coterie_learning.contribution.Contents`."""
    output: WritePath
    """Path to write the mean update to."""


class SumFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figures measured by the devices of a secure sum, together; None: not sent."""

    devices: int
    samples: int | None
    loss_before: float | None
    loss_after: float | None
    accuracy_before: float | None


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the files needed to evaluate a model."""

    predict: ReadPath
    """The pair's ``predict.onnx``."""
    dataset: ReadPath
    """NPZ with x and y."""
    frozen: ReadPath | None = None
    """The pair's frozen tensors, if it has any."""


class Root(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of the files from which the platform's own update is computed."""

    train_step: ReadPath
    """The pair's ``train_step.onnx``."""
    dataset: ReadPath
    """The cloud data: NPZ with x and y."""
    frozen: ReadPath | None = None
    """The pair's frozen tensors, if it has any."""


class MergeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds are given as a plan writes them."""

    model: ModelSpec
    base: StoredBlob
    """The parameters that the round began with."""
    local: Document
    merge: Document
    codec: Document
    updates: tuple[StoredUpdate, ...]
    output: WritePath
    """Path to write the new parameters to."""
    state_output: WritePath
    """Path to write the new server state to."""
    masked: MaskedSum | None = None
    """Merged instead of `updates`, where single updates cannot be read."""
    partials: tuple[StoredPartial, ...] = ()
    fleet: int = 0
    """Devices that could have taken part; 0: not known."""
    server_state: StoredBlob | None = None
    """Path of the server state that belongs to the base."""
    held_out: HeldOut | None = None
    root: Root | None = None
    """Where the merge compares updates with one that the platform computes itself."""
    ordinary_norm: float = 0.0
    """The largest median of norms of an earlier cohort; 0: none is known."""
    privacy: Document = msgspec.field(default_factory=lambda: {"kind": "none"})
    down: Document = msgspec.field(default_factory=lambda: {"kind": "whole"})
    residual: StoredBlob | None = None
    """The base's quantisation residual, where its difference was encoded with loss."""
    difference_output: WritePath | None = None
    """Path to write the difference to, where `down` encodes one."""
    residual_output: WritePath | None = None
    """Path to write the quantisation residual of the new parameters to."""
    noise_secret: bytes = b""
    """Seed of the noise of this merge, where `privacy` adds noise to sums: 32 bytes."""
    noise_earlier: tuple[Sha256, ...] = ()
    """The `summed` digests of earlier releases, oldest first, where `privacy` has a stream of them."""


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model on held-out samples."""

    accuracy: float | None
    """None where the task has no correct class."""
    loss: float
    class_accuracy: tuple[float | None, ...] = ()
    """Of a classifier, for each class; None where a class has no samples."""
    confusion: Confusion | None = None
    """Of a classifier."""


class LeftOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An update that was not merged, and why."""

    sha256: Sha256
    code: str
    """Of a WireError, e.g. ``update.damaged`` or ``update.outlier``."""
    detail: str


class ComparedUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An update as judged by a merge that compares updates."""

    sha256: Sha256
    weight: float
    """Its share of the version, where 1 is an equal share; 0: the merge left it out."""
    distance: float
    """Its distance from the others, as the merge kind defines it."""


class MergeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`base` and `candidate` are measured on the held-out data, None without."""

    parameters: BlobRef
    server_state: BlobRef | None
    """The file of the new server state; None if the merge keeps none."""
    updates: int
    """How many updates were merged, at whatever weight."""
    samples: int
    """Samples of the merged updates."""
    left_out: tuple[LeftOut, ...]
    compared: tuple[ComparedUpdate, ...]
    """Empty where the merge does not compare updates."""
    sum_figures: SumFigures | None
    """Figures measured by devices, where their sum was merged; None where single updates were."""
    base: Quality | None
    candidate: Quality | None
    difference: BlobRef | None = None
    """The file of the encoded difference between the base's and the new parameters; None if versions are sent whole."""
    residual: BlobRef | None = None
    """The file of the new parameters' quantisation residual; None if none is kept."""
    summed: str = ""
    """Digest of the summed updates, where `privacy` has a stream of releases."""
    next_bound: float | None = None
    """The clipping bound of the next round, where it adapts to these updates' norms."""
    ordinary_norm: float = 0.0
    """For the arguments of the next merge."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.averaging:merge_stored",
    arguments=MergeArguments,
    result=MergeResult,
    errors=(
        UpdateChanged,
        BlobDamaged,
        NoUpdateLeft,
        TooFewUpdates,
        SumWrong,
        PartialOutdated,
        NotFinite,
        MalformedDataset,
    ),
)
