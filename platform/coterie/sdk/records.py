"""Records of pairs, data sets, jobs and rounds, with the fields that the SDK uses."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.compile.pair_report import PairReport
from coterie.core.errors import Field
from coterie.fleet_evaluation.summary import EvaluationFigures, Summary
from coterie.offline.description import describe, plain_text
from coterie_wire.bundle import ModelSpec
from coterie_wire.structs import from_json

Share = Annotated[float, Meta(ge=0, le=1)]


class Pair(msgspec.Struct, frozen=True):
    """A model pair. Printing one that was accepted prints the pre-flight's report."""

    id: str
    name: str
    state: str
    """``checking``, ``ready`` or ``rejected``."""
    spec: ModelSpec | None
    device_champion: str | None
    """The device model's version in use; None before a bootstrap."""
    cloud_champion: str | None
    reason_code: str
    reason_sentence: str
    reason_fields: dict[str, Field]
    recipe: dict[str, object]
    """How the device model is trained, every setting written out."""
    stored_report: msgspec.Raw = msgspec.field(name="report")

    @property
    def report(self) -> PairReport:
        """What the pre-flight measured; only of a pair that is ready."""
        return from_json(self.stored_report, PairReport)

    def __str__(self) -> str:
        if self.state != "ready" or self.spec is None:
            return f"{self.name} is {self.state}: {self.reason_sentence}".removesuffix(": ")
        return f"{self.name} is ready\n{plain_text(describe(self.spec, self.report))}"


Role = Literal["device", "cloud"]


class Version(msgspec.Struct, frozen=True):
    """One set of a model's parameters."""

    id: str
    role: Role
    number: int
    lineage: str
    """The federation or group that it serves; blank: the pair itself."""
    origin: str
    """``bootstrap``, ``upload``, ``distillation``, ``merge``, ``split`` or ``copy``."""
    champion: bool
    """Whether it is the one in use in its lineage."""
    metrics: dict[str, object]


class Dataset(msgspec.Struct, frozen=True):
    """A data set on the platform."""

    id: str
    name: str
    rows: int


class Job(msgspec.Struct, frozen=True):
    """A pre-flight, a bootstrap, a distillation or a simulation."""

    id: str
    kind: str
    state: str
    progress: Share
    progress_sentence: str
    error_code: str
    error_sentence: str
    left_s: float | None = None
    """Seconds that it expects to take still; None: it does not tell."""


class Range(msgspec.Struct, frozen=True):
    """Between `low` and `high` lie four of five."""

    low: float
    middle: float
    high: float


class ExpectedRound(msgspec.Struct, frozen=True):
    """The forecast of a round."""

    number: int
    """From 1."""
    accuracy: Range
    """Of the version in use after it, on samples held out."""


class ExpectedMoment(msgspec.Struct, frozen=True):
    """The forecast of a span of time in which samples arrive."""

    ends_s: float
    accuracy: Range
    """Of predictions before devices learn from the samples."""


class Expected(msgspec.Struct, frozen=True):
    """The forecast of a plan; figures of rounds are None where it holds none."""

    rounds: list[ExpectedRound]
    duration_s: Range | None
    """Of a round."""
    lost: Range | None
    """Devices of a round that gave up or fell silent."""
    up_bytes: Range | None
    """That the devices of a round send."""
    moments: list[ExpectedMoment]
    """Where samples come over time; else empty."""
    accuracy: Range
    """Of the last version; where samples come over time, of all predictions."""
    begins_with: float
    bytes_per_device: Range
    """Up and down, over all rounds, of one that took part."""
    joules_per_device: Range
    device_accuracy_median: Range | None
    """The same over devices, each on samples of its own; None: an older release found it."""
    device_accuracy_worst_decile: Range | None
    """Mean over the worst tenth of devices."""


class Happened(msgspec.Struct, frozen=True):
    """A round that was held under the plan since."""

    number: int
    duration_s: float
    lost: int
    up_bytes: int
    accuracy: float | None


class PlanForecast(msgspec.Struct, frozen=True):
    """A plan that was tried on a simulated fleet, and the rounds that then happened."""

    job: Job
    devices: int
    profile: str | None
    """A shipped fleet; None: the federation's own, from its past."""
    profile_reason: str
    """Why it is not the federation's own, where that was wanted."""
    expected: Expected | None
    """None: it is not done, or did not end well."""
    happened: list[Happened]
    """The first is compared with the first that was expected."""


class SimulationRun(msgspec.Struct, frozen=True):
    """A run of a simulated fleet that the platform's workers perform; the runs of a sweep have one fleet."""

    id: str
    fleet: str
    pair_name: str
    data_name: str
    wanted: Mapping[str, object]
    """Its plan, seed and rounds."""
    state: str
    """``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``."""
    progress: float
    """Share of the rounds held."""
    left_s: float | None
    """Seconds that it expects to take still; None: it cannot tell, or does not run."""
    reason_code: str
    reason_sentence: str
    accuracy: float | None
    """Of the last version, on samples held out; None: it has not ended well."""
    device_accuracy_median: float | None
    """Of the last version, over devices, each on samples of its own."""
    device_accuracy_worst_decile: float | None
    """Mean over the worst tenth of devices."""
    bytes_per_device: float | None
    """Up and down, of a device that took part."""
    joules_per_device: float | None
    """Of radio and processor, of a device that took part."""
    asked_by: str


class Evaluation(msgspec.Struct, frozen=True):
    """A federated evaluation: a sample of devices measures a version on samples that they hold out."""

    id: str
    version: str
    federation: str
    state: str
    """``planned``, ``measuring``, ``finished``, ``failed`` or ``cancelled``."""
    reason_code: str
    reason_sentence: str
    figures: EvaluationFigures | None
    """None before the first report."""

    @property
    def is_over(self) -> bool:
        """Whether no further report counts."""
        return self.state not in ("planned", "measuring")

    @property
    def summary(self) -> Summary | None:
        """Means, deciles and the worst over all devices that have measured it; None: none has."""
        return None if self.figures is None else self.figures.summary

    def __str__(self) -> str:
        return f"evaluation is {self.state}: {self.reason_sentence}".removesuffix(": ")


class Round(msgspec.Struct, frozen=True):
    """A round of a federation."""

    id: int
    number: int
    state: str
    reason_code: str
    """Why it waits, or was abandoned; blank where it does neither."""
    reason_sentence: str
    metrics: dict[str, object] | None
    """Of a published round: accuracy on the held-out data, where there are some, updates and bytes."""

    @property
    def is_over(self) -> bool:
        """Whether it has come to a new version, or to nothing."""
        return self.state in ("published", "abandoned")

    def __str__(self) -> str:
        return f"round {self.number} is {self.state}: {self.reason_sentence}".removesuffix(": ")
