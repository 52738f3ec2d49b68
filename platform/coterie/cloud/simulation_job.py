"""Job: what a plan would do to a fleet, before it meets it, with some draws of everything that is drawn."""

from importlib.util import find_spec
from typing import Literal

import msgspec

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob, Limits
from coterie.cloud.figures import SimulationFigures, drawn
from coterie.core.errors import CoterieError, ErrorKind
from coterie_learning.plan import Document
from coterie_wire.bundle import ModelSpec

LIMITS = Limits(wall_s=24 * 3600, cpu_s=24 * 3600, memory_bytes=8 << 30, confined=True)
DRAWS = 9
"""Simulations that differ in their seed alone. From the least to the greatest of nine, a tenth lies in four of five."""
STATED = (DRAWS - 1) / (DRAWS + 1)
SAVED = "saved"
"""Name of a figure that progress has once this attempt has written what another can go on from."""
LEFT_S = "left_s"
"""Name of a figure: seconds that the job expects to take still."""


class CannotSimulate(CoterieError):
    """Fields: detail."""

    code = "simulation.cannot_simulate"
    kind = ErrorKind.INVALID
    sentence = "The plan cannot be tried: {detail}"


class SimulationArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute. Of `dataset` and `scenario` there is one, and of `trace` and `profile`."""

    plan: Document
    model: ModelSpec
    train_step: ReadPath
    predict: ReadPath
    parameters: ReadPath
    """Those that the first round begins with."""
    dataset: ReadPath | None
    """NPZ of samples, which `split` divides among devices; a fifth judges versions."""
    scenario: str | None
    """A shipped one, whose devices have samples of their own."""
    split: str
    """A kind of split, and after a colon its hyperparameter."""
    each: int | None
    """Samples that each device draws with replacement; None: the samples are divided."""
    trace: ReadPath | None
    """The fleet's own past."""
    profile: str | None
    """A shipped profile of a fleet."""
    drift: str | None
    """In which order samples come over the days: a kind of drift, and after a colon its hyperparameter; None: they are
    all there from the beginning."""
    cloud: ReadPath | None
    """The pair's cloud program, where devices and cloud teach each other; with the next two."""
    cloud_parameters: ReadPath | None
    cloud_data: ReadPath | None
    """NPZ of the initial cloud data."""
    devices: int
    rounds: int
    days: float
    seed: int
    keep: WritePath
    """The directory of what it goes on from."""
    code: ReadPath
    """The agent's code, which simulated devices run."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Between `low` and `high` lie four of five."""

    low: float
    middle: float
    high: float


class ExpectedRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round, over the draws that held it."""

    number: int
    """From 1."""
    draws: int
    """That held it."""
    ended_s: float
    """Median time of its end, in simulated seconds since the plan began."""
    accuracy: Range
    """Of the version in use after it, on samples held out."""


class ExpectedMoment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some time in which samples came, over the draws."""

    ends_s: float
    """In simulated seconds since the plan began."""
    accuracy: Range
    """Mean over the devices to which samples came, of predictions before these devices learned from them."""


class SimulationResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to expect; figures of a round are those of all rounds of all draws, and null where a plan holds none."""

    rounds: tuple[ExpectedRound, ...]
    duration_s: Range | None
    """Of a round, from its opening to its closing."""
    lost: Range | None
    """Devices of a round that were asked, and gave up or fell silent."""
    up_bytes: Range | None
    """That the devices of a round send, without framing."""
    merged_share: float | None
    """Of rounds that were held."""
    accuracy: Range
    """Of the last version; where samples come over time, of predictions before devices learn from them."""
    begins_with: float
    """Accuracy of the version that devices begin with, on all samples."""
    bytes_per_device: Range
    """Up and down with framing, over all rounds, of a device that took part."""
    joules_per_device: Range
    """Radio and processor, as `coterie.simulation.costs` has them, of a device that took part."""
    participants: Range
    """Devices whose update counted at least once."""
    simulated_s: float
    """Median."""
    devices: int
    samples: int
    """Of all devices."""
    held_out: int
    draws: int
    durations: Literal["replayed", "simulated"]
    """Whether what rounds take is from replaying the fleet's own parts, or from the draws."""
    executor_reason: str
    """Why devices were trained one by one; empty: they were not."""
    device_accuracy_median: Range | None = None
    """Over devices, each on samples of its own; None: an older release found it."""
    device_accuracy_worst_decile: Range | None = None
    """Mean over the worst tenth of devices."""
    moments: tuple[ExpectedMoment, ...] = ()
    """Where samples come over time; else empty."""

    def figures(self) -> SimulationFigures:
        """What a list shows of it: of each range the middle."""
        median, worst = self.device_accuracy_median, self.device_accuracy_worst_decile
        return SimulationFigures(
            accuracy=self.accuracy.middle,
            accuracies=drawn([one.accuracy.middle for one in self.moments or self.rounds]),
            device_accuracy_median=None if median is None else median.middle,
            device_accuracy_worst_decile=None if worst is None else worst.middle,
            bytes_per_device=self.bytes_per_device.middle,
            joules_per_device=self.joules_per_device.middle,
        )


def agent_code() -> str:
    """The directory of the agent's package."""
    found = find_spec("coterie_agent")
    assert found is not None and found.submodule_search_locations, "the platform is installed with the agent"
    return next(iter(found.submodule_search_locations))


JOB = ChildJob(
    module=__name__,
    work="coterie.simulation.fleet.trying:try_stored",
    arguments=SimulationArguments,
    result=SimulationResult,
    errors=(CannotSimulate,),
)
