"""Job: train the cloud model on its initial data set (Colla, stage 1)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.cloud.errors import OF_WORKERS, Diverged, NotLearning
from coterie.cloud.pace import CHECKPOINT_S
from coterie.cloud.strategies import DEFAULT_STRATEGY
from coterie.compile.errors import ERRORS
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef

Precision = Literal["float32", "bf16"]


class Together(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The workers of a gang that this host runs, and the TCP address at which workers of several hosts meet."""

    first: Annotated[int, Meta(ge=0)]
    """Number of the first worker of this host; worker 0 listens."""
    here: Annotated[int, Meta(ge=1)]
    """How many workers this host runs."""
    address: str
    """Address at which workers of other hosts reach those of this one."""
    leader: str
    """Address of the host of worker 0."""
    port: Annotated[int, Meta(ge=1, le=65_535)]
    """Port at which worker 0 listens."""
    secret: str
    """Authenticates workers to each other; another attempt has another one."""


class BootstrapArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    cloud: ReadPath
    """The cloud model, a file of ``torch.export.save``."""
    dataset: ReadPath
    """NPZ with x and y."""
    recipe: Document
    """How the pair is trained, as `coterie.compile.recipe` writes it: its loss is the cloud model's too."""
    loss: ReadPath | None
    """The program of the recipe's loss, where that is `custom`."""
    output: WritePath
    """Where to write the trained parameters."""
    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 60
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 1e-3
    """Step size of AdamW."""
    batch_size: Annotated[int, Meta(ge=1, le=65_536)] = 32
    validation_share: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    """Share of the samples used for validation."""
    patience: Annotated[int, Meta(ge=1, le=10_000)] = 20
    """Epochs without improvement after which training stops (early stopping)."""
    least_gain: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of the least loss that the remaining epochs must promise, or training stops; 0: it never stops for its
    loss curve.
    """
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    strategy: Document = msgspec.field(default_factory=lambda: dict(DEFAULT_STRATEGY))
    """How training is distributed over processes, as `coterie.cloud.strategies` writes it."""
    gpus: tuple[Annotated[int, Meta(ge=0, le=127)], ...] = ()
    """Numbers of this host's GPUs, one for each of its workers; empty: they compute on its cores."""
    precision: Precision = "float32"
    """Precision of matrix products in training."""
    compiled: bool = False
    """Whether passes are compiled by ``torch.compile``."""
    together: Together | None = None
    """This host's part where workers are on several hosts; None: all workers are here."""
    checkpoints: WritePath | None = None
    """The directory of this training's checkpoints, from which it resumes; None: no checkpoints."""
    checkpoint_s: Annotated[float, Meta(ge=0)] = CHECKPOINT_S
    """Seconds after which a checkpoint is written within an epoch; 0: after each step."""


class BootstrapResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accuracy and loss are those of the validation samples."""

    parameters: BlobRef
    epochs: int
    """How many epochs were run."""
    validation_accuracy: float | None
    validation_loss: float
    class_accuracy: tuple[float | None, ...]
    """Of a classifier, for each class; None where a class has no validation samples."""
    training_accuracy: float | None
    """On the training samples."""
    held_back: int
    """How many validation samples there were."""
    warning: str | None
    """Why these figures are uncertain; None where they are reliable."""
    ended: str | None = None
    """Why it stopped early because of its loss curve; None: it did not."""
    confusion: Confusion | None = None
    """Of a classifier, on the validation samples."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.bootstrap:bootstrap_stored",
    arguments=BootstrapArguments,
    result=BootstrapResult,
    errors=(MalformedDataset, Diverged, NotLearning, *ERRORS, *OF_WORKERS),
)
