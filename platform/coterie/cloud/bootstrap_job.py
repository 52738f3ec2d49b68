"""Job: train the cloud model on its initial data set (Colla, stage 1)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.cloud.errors import OF_WORKERS, Diverged, NotLearning
from coterie.cloud.pace import CHECKPOINT_S
from coterie.cloud.strategies import ALONE
from coterie.compile.errors import ERRORS
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef

Precision = Literal["float32", "bf16"]


class Together(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of a job's workers this host runs, and where they meet the others, by TCP."""

    first: Annotated[int, Meta(ge=0)]
    """Number of the first worker here; worker 0 listens."""
    here: Annotated[int, Meta(ge=1)]
    """How many are here."""
    address: str
    """Where workers of other hosts reach those of this one."""
    leader: str
    """Address of the host of worker 0."""
    port: Annotated[int, Meta(ge=1, le=65_535)]
    """Where worker 0 listens."""
    secret: str
    """Under which they tell each other their addresses; another attempt has another one."""


class BootstrapArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    cloud: ReadPath
    """The cloud model, a file of ``torch.export.save``."""
    dataset: ReadPath
    """NPZ with x and y."""
    recipe: Document
    """How the pair is trained, as `coterie.compile.recipe` writes it: the loss is the cloud model's too."""
    loss: ReadPath | None
    """The program of the recipe's loss, where it has one of its own."""
    output: WritePath
    """Where to write the trained parameters."""
    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 60
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 1e-3
    """Step size of AdamW."""
    batch_size: Annotated[int, Meta(ge=1, le=65_536)] = 32
    validation_share: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    """Share of the samples that is held back, to judge each epoch."""
    patience: Annotated[int, Meta(ge=1, le=10_000)] = 20
    """Epochs without improvement after which it stops."""
    least_gain: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of its least loss that the remaining epochs must promise, or it ends; 0: it ends for no curve."""
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    strategy: Document = msgspec.field(default_factory=lambda: dict(ALONE))
    """How training is spread over processes, as `coterie.cloud.strategies` writes it."""
    gpus: tuple[Annotated[int, Meta(ge=0, le=127)], ...] = ()
    """Numbers of this host's GPUs, one for each worker that it runs; none: they compute on its cores."""
    precision: Precision = "float32"
    """Of the matrix products of training."""
    compiled: bool = False
    """Whether passes are compiled by ``torch.compile``."""
    together: Together | None = None
    """What this host's part is where workers are on several; None: all are here."""
    checkpoints: WritePath | None = None
    """The directory of this training's checkpoints, which it goes on from; None: it keeps none."""
    checkpoint_s: Annotated[float, Meta(ge=0)] = CHECKPOINT_S
    """Seconds after which an epoch that goes on is saved in between; 0: after each step."""


class BootstrapResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accuracy and loss are those of the samples held back."""

    parameters: BlobRef
    epochs: int
    """How many were run."""
    validation_accuracy: float | None
    validation_loss: float
    class_accuracy: tuple[float | None, ...]
    """Of a classifier, over the samples of each class that were held back; None where there are none."""
    training_accuracy: float | None
    """On the samples that it was trained on."""
    held_back: int
    """How many samples were."""
    warning: str | None
    """Why these figures are uncertain; None where they are reliable."""
    ended: str | None = None
    """Why it ended early for the shape of its loss curve; None: it did not."""
    confusion: Confusion | None = None
    """Of a classifier, on the samples that were held back."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.bootstrap:bootstrap_stored",
    arguments=BootstrapArguments,
    result=BootstrapResult,
    errors=(MalformedDataset, Diverged, NotLearning, *ERRORS, *OF_WORKERS),
)
