"""How a pair is bootstrapped, and a version quantised; defaults suit small data sets."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.cloud.bootstrap_job import Precision
from coterie.cloud.strategies import DEFAULT_STRATEGY
from coterie.cluster.launchers import LauncherName
from coterie.cluster.schedule import Device
from coterie_learning.plan import Document


class TrainingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Both stages stop early where validation samples no longer gain."""

    epochs: Annotated[int, Meta(ge=1, le=10_000, description="most passes over the data, for the cloud model")] = 60
    learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the cloud model's AdamW")] = 1e-3
    batch_size: Annotated[int, Meta(ge=1, le=65_536, description="samples in a step of the cloud model")] = 32
    distil_epochs: Annotated[int, Meta(ge=1, le=10_000, description="most passes, for the device model")] = 60
    distil_learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the device model's descent")] = (
        0.05
    )
    label_weight: Annotated[
        float, Meta(ge=0, le=1, description="weight of the labels for the device model; the rest is the cloud model's")
    ] = 0.5
    least_gain: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of its least loss that the cloud model's remaining epochs must promise; 0: none",
        ),
    ] = 0.0
    seed: Annotated[int, Meta(ge=0, le=2**53, description="seeds initial order and held-back samples")] = 0
    team: Annotated[str, Meta(max_length=40, description="whose quota of the cluster it uses; blank: of no team")] = ""
    priority: Annotated[
        int, Meta(ge=0, le=9, description="a job of a higher one has its team's lower ones save and make room")
    ] = 0
    launcher: Annotated[
        Literal["any"] | LauncherName,
        Meta(description="who starts the workers: whoever has room, hosts themselves, or the scheduler of a cluster"),
    ] = "any"
    device: Annotated[
        Device,
        Meta(
            description="what the cloud model's workers compute on; auto: one that is alone takes a GPU where one is "
            "free, several share cores; gpus: each waits for one"
        ),
    ] = "auto"
    precision: Annotated[
        Precision,
        Meta(description="of the cloud model's matrix products in training; bf16 is quicker on GPUs that have it"),
    ] = "float32"
    compiled: Annotated[
        bool, Meta(description="compile the cloud model's passes (torch.compile); pays where steps are many")
    ] = False
    strategy: Document = msgspec.field(default_factory=lambda: dict(DEFAULT_STRATEGY))
    """How the cloud model's training is distributed over processes, as `coterie.cloud.strategies` writes it."""


class SimulationOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plan, data and duration of a simulation."""

    plan: Document
    """Every hyperparameter written out."""
    devices: Annotated[int, Meta(ge=1, le=100_000)]
    after_round: Annotated[int, Meta(ge=0)]
    """Rounds that the federation had held at the request: later ones are compared with the simulation."""
    scenario: str | None = None
    """A shipped one, instead of a data set."""
    split: str = "iid"
    """How the data set is divided among devices."""
    each: Annotated[int, Meta(ge=1)] | None = None
    """Samples that each device draws with replacement; None: the data set is divided."""
    profile: str | None = None
    """A shipped fleet; None: the fleet's own history."""
    profile_reason: str = ""
    """Why it is not the fleet's own history, where that was requested."""
    drift: str | None = None
    """In which order samples arrive over the `days`; None: devices have all of them from the beginning."""
    cloud_version: str | None = None
    """The cloud model that devices and cloud start from; None: the plan needs none."""
    rounds: Annotated[int, Meta(ge=1, le=1000)] = 20
    days: Annotated[float, Meta(gt=0, le=60)] = 14.0
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0


class QuantiseOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The allowed cost of an int8 form."""

    max_loss_points: Annotated[float, Meta(ge=0, le=100)] = 1.0
    """Percentage points of accuracy on held-out samples; of a model without accuracy, percent of its loss."""


Options = TrainingOptions | QuantiseOptions | SimulationOptions
