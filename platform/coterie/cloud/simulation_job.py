"""Job: predict a plan's effect on a fleet before it is used there, with several random draws."""

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
"""Simulations that differ in their seed only. Four of five lie between the least and the greatest of nine, less a
tenth each.
"""
STATED = (DRAWS - 1) / (DRAWS + 1)
SAVED = "saved"
"""Name of a figure that progress has once this attempt has written a checkpoint."""
LEFT_S = "left_s"
"""Name of a figure: the remaining seconds that the job expects to take."""


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
    """The parameters that the first round starts from."""
    dataset: ReadPath | None
    """NPZ of samples, which `split` divides among devices; a fifth is for evaluation."""
    scenario: str | None
    """A shipped one, whose devices have samples of their own."""
    split: str
    """A kind of split, and after a colon its hyperparameter."""
    each: int | None
    """Samples that each device draws with replacement; None: the samples are divided."""
    trace: ReadPath | None
    """The fleet's own history."""
    profile: str | None
    """A shipped profile of a fleet."""
    drift: str | None
    """In which order samples arrive over the days: a kind of drift, and after a colon its hyperparameter; None: all
    are available from the beginning.
    """
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
    """The directory of checkpoints from which it resumes."""
    code: ReadPath
    """The agent's code, which simulated devices run."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Four of five draws lie between `low` and `high`."""

    low: float
    middle: float
    high: float


class ExpectedRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round, over the draws that had it."""

    number: int
    """From 1."""
    draws: int
    """How many draws had it."""
    ended_s: float
    """Median time of its end, in simulated seconds since the plan began."""
    accuracy: Range
    """Of the version in use after it, on held-out samples."""


class ExpectedMoment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One period in which samples arrived, over the draws."""

    ends_s: float
    """In simulated seconds since the plan began."""
    accuracy: Range
    """Mean over the devices that received samples, of predictions before they learned from them."""


class SimulationResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to expect; figures of a round are those of all rounds of all draws, and null where a plan holds none."""

    rounds: tuple[ExpectedRound, ...]
    duration_s: Range | None
    """Of a round, from its opening to its closing."""
    lost: Range | None
    """Devices of a round that were invited, and gave up or stopped responding."""
    up_bytes: Range | None
    """Sent by the devices of a round, without framing."""
    merged_share: float | None
    """Share of the rounds."""
    accuracy: Range
    """Of the last version; where samples arrive over time, of predictions before devices learn from them."""
    begins_with: float
    """Accuracy of the version that devices start with, on all samples."""
    bytes_per_device: Range
    """Up and down with framing, over all rounds, for a device that took part."""
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
    """Whether durations of rounds are replayed from the fleet's own history, or simulated."""
    executor_reason: str
    """Why devices were trained one by one; empty: they were not."""
    device_accuracy_median: Range | None = None
    """Over devices, each on its own samples; None: an older release ran it."""
    device_accuracy_worst_decile: Range | None = None
    """Mean over the worst tenth of devices."""
    moments: tuple[ExpectedMoment, ...] = ()
    """Where samples arrive over time; else empty."""

    def figures(self) -> SimulationFigures:
        """The figures in a list: of each range the middle."""
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
