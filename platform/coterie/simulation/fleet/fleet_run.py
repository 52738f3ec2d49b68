"""The inputs of a fleet's simulation."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from coterie.evaluation.datasets import Dataset
from coterie.simulation.fleet.drifts import Drift
from coterie.simulation.fleet.profile import USUAL, FleetProfile
from coterie.simulation.fleet.refusals import is_on_a_clock
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.splits import Split
from coterie.simulation.fleet.work import Executor
from coterie.simulation.on_device import Graphs
from coterie.simulation.scenario import Speed
from coterie.twin.trace import Trace
from coterie_learning.plan import Plan
from coterie_wire.tensors import Tensors


class GivenCloud(NamedTuple):
    """A cloud model, and the initial cloud data."""

    program: bytes
    """As ``torch.export.save`` writes it."""
    data: Dataset
    parameters: bytes | None = None
    """Those that it has, with which the device's go; None: it is made of the program and the data first, and then the
    first device model of it."""


@dataclass(frozen=True, kw_only=True)
class FleetRun:
    """What is simulated."""

    plan: Plan
    model: Graphs
    parameters: Tensors
    """Those that the first version has."""
    samples: FleetSamples
    split: Split
    devices: int | None = None
    """How many; None: as many as the split finds."""
    each: int | None = None
    """Samples that each device draws with replacement; None: the samples are divided among the devices."""
    held_out_share: float = 0.2
    rounds: int = 100
    """After which it ends."""
    days: float = 30.0
    """Simulated days after which it ends at the latest."""
    ends_s: float | None = None
    """Where samples come over the `days`, the simulated time at which it ends already; None: with the last of them."""
    seed: int = 0
    executor: Executor | Literal["auto"] = "auto"
    """`auto`: side by side where that is possible."""
    workers: int = 1
    evaluate_every: int = 1
    """Rounds from one measurement of a version to the next."""
    fleet: FleetProfile | Trace = USUAL
    """How its devices are and when they may train."""
    drift: Drift | None = None
    """In which order samples come to a device, evenly over the `days`; None: it has all from the beginning."""
    cloud: GivenCloud | None = None
    """What the platform has besides, for plans whose devices and cloud teach each other; None: nothing."""
    names: tuple[str, str] = ("pair", "data")
    """What the outcome calls the model and the samples."""

    @property
    def speed(self) -> Speed:
        """Speed of an average device."""
        return self.fleet.speed if isinstance(self.fleet, FleetProfile) else Speed()

    @property
    def is_on_a_clock(self) -> bool:
        """Whether devices do more than rounds on fixed samples, and are therefore simulated individually on a clock."""
        return is_on_a_clock(self.plan, drifts=self.drift is not None, has_cloud=self.cloud is not None)
