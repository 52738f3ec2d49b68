"""What a plan would do to a model on samples of one's own, before any device is there."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from coterie.core.errors import CoterieError
from coterie.offline.progress import ProgressLine
from coterie.sdk.arrays import write_arrays
from coterie.sdk.errors import Rejected
from coterie.sdk.exporting import Example, write_programs
from coterie.sdk.plans import checked
from coterie.sdk.plans import plan as preset_plan
from coterie.sdk.platform import Platform
from coterie.sdk.table import Row, Table
from coterie.simulation.contenders import Contender, parse_contender
from coterie.simulation.costs import RADIOS, Costs, NetworkName
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.on_platform import OnPlatform
from coterie.simulation.fleet.on_ray import OnRay
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.planning import Goal, Proposals, propose, usual_dimensions
from coterie.simulation.fleet.run_options import BATCH_SIZE, RunOptions, fleet_run
from coterie.simulation.fleet.runner import HERE, Runner
from coterie.simulation.fleet.simulate_fleet import simulate_fleet as hold_rounds
from coterie.simulation.fleet.sweep import Dimension, SweepOutcome
from coterie.simulation.fleet.sweep import sweep as run_sweep
from coterie.simulation.fleet.table import figure_row, proposal_rows, round_rows, tried_rows, why_no_round
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.own_work import own_scenario
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.simulate import simulate as run
from coterie.simulation.ways import ComparisonOptions, WaysOutcome, way_rows
from coterie.simulation.ways import compare_ways as run_ways
from coterie_learning.plan import Plan
from coterie_wire.errors import WireError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

On = Platform | Literal["here", "ray"]
"""Who performs simulations: this machine, Ray, or a platform's workers."""


@dataclass(frozen=True)
class SimulatedUsers:
    """What a simulation found in which every user of the data is a device."""

    plan: str
    """The preset's name; of a plan of one's own "plan"."""
    outcome: SimulationOutcome
    batches: Table
    """A row for each time at which batches came: simulated seconds, and the mean accuracy on them before devices
    learned from them."""

    def frame(self) -> "DataFrame":
        """The batches as a data frame of pandas. Raises ModuleNotFoundError where that is not installed."""
        return self.batches.frame()

    def plot(self) -> "Figure":
        """Accuracy over simulated time. Raises ModuleNotFoundError without matplotlib."""
        from coterie.simulation.plot import streams_figure

        return streams_figure(self.plan, self.outcome)


@dataclass(frozen=True)
class Simulated:
    """What a fleet's simulation found."""

    outcome: FleetOutcome
    rounds: Table
    """A row a round: when it was, who was invited, how many updates counted, accuracy and loss of its version."""
    figures: Table
    """One row: accuracy, that over devices (median, worst tenth), bytes and joules of a device that took part."""

    def frame(self) -> "DataFrame":
        """The rounds as a data frame of pandas. Raises ModuleNotFoundError where that is not installed."""
        return self.rounds.frame()

    def plot(self) -> "Figure":
        """Accuracy and loss by round, and the devices of each. Raises ModuleNotFoundError without matplotlib."""
        from coterie.simulation.plot import fleet_figure

        return fleet_figure(self.outcome)


@dataclass(frozen=True)
class Swept:
    """What a sweep found."""

    outcome: SweepOutcome
    tried: Table
    """A row a combination, the best first: its hyperparameters, its rounds, and as means over the choosing seeds its
    accuracy, that over devices (median, worst tenth), bytes and joules of a device that took part."""

    def frame(self) -> "DataFrame":
        """What was tried as a data frame of pandas. Raises ModuleNotFoundError where that is not installed."""
        return self.tried.frame()

    def plot(self) -> "Figure":
        """Accuracy by each hyperparameter, and the winner where nothing was chosen. Raises ModuleNotFoundError."""
        from coterie.simulation.plot import sweep_figure

        return sweep_figure(self.outcome)


def simulate(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    devices: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SimulatedUsers:
    """Run a `plan`, or a preset by its name, with virtual devices and a simulated clock, on this machine.

    Every user of `data` is a device: arrays of as many rows, ``y`` with classes, ``user`` with whose each sample is
    (whole numbers), and ``x`` or the model's inputs by their names. Each device meets its samples in the order of the
    rows, 32 at a time. `devices` takes the first so many users. The same arguments give the same outcome. Raises
    InvalidPlan, or Rejected where model and data do not fit the simulator.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    with _own(device, example, data, progress=progress) as own:
        scenario = own_scenario(own.device, own.samples)
        known = scenario.devices if devices is None else devices
        outcome = run(contender, scenario, devices=known, seed=seed, report=own.show)
    times = [(tick * outcome.tick_s, accuracy) for tick, accuracy in enumerate(outcome.accuracy_by_tick, 1)]
    rows: list[Row] = [{"simulated_s": at, "accuracy": found} for at, found in times if found is not None]
    return SimulatedUsers(plan if isinstance(plan, str) else "plan", outcome, Table.of(rows))


@dataclass(frozen=True)
class ComparedWays:
    """What the four ways found and cost."""

    outcome: WaysOutcome
    ways: Table
    """A row a way: accuracy, seconds to the target, bytes, seconds and joules a device, and what left the devices."""


def compare_ways(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    devices: int | None = None,
    seed: int = 0,
    target: float | None = None,
    network: NetworkName = "wifi",
    progress: bool = True,
) -> ComparedWays:
    """Compare a `plan` that holds rounds with offloading, distributed training and help between devices.

    `data` are as `simulate` takes them. `target` is the accuracy that each way's time is taken to; None: 0.95 of the
    best one's. Raises InvalidPlan, or Rejected where plan, model and data do not fit the simulator.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    assert isinstance(contender, Plan), "presets and checked plans are plans"
    with _own(device, example, data, progress=progress) as own:
        scenario = own_scenario(own.device, own.samples)
        known = scenario.devices if devices is None else devices
        asked = ComparisonOptions(contender, known, seed, target, _costs(network))
        outcome = run_ways(asked, scenario, report=own.show)
    return ComparedWays(outcome, Table.of([dict(row) for row in way_rows(outcome)]))


class _Own(NamedTuple):
    device: Path
    samples: Path
    show: Report
    cloud: Path | None
    cloud_data: Path | None

    def fleet(
        self, contender: Contender, asked: RunOptions, *, fleet: str | Path | None, drift: str | None
    ) -> FleetRun:
        """What `asked` makes of them. Raises what `fleet_run` raises."""
        given = asked._replace(fleet=None if fleet is None else str(fleet), drift=drift)
        return fleet_run(
            contender, self.device, self.samples, given._replace(cloud=self.cloud, cloud_data=self.cloud_data)
        )


@contextmanager
def _own(
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    progress: bool,
    cloud: nn.Module | None = None,
    cloud_data: Mapping[str, ArrayLike] | None = None,
) -> Iterator[_Own]:
    """The model and the samples as files, and a line of progress. Raises Rejected for what the simulator refuses."""
    with tempfile.TemporaryDirectory(prefix="coterie-simulate-") as directory, ProgressLine.wanted(progress) as line:
        models = {"device": device} if cloud is None else {"device": device, "cloud": cloud}
        paths = write_programs(Path(directory), models, example, loss=None, target=None, show=line.show)
        samples, beside = Path(directory, "data.npz"), Path(directory, "cloud_data.npz")
        for path, arrays in ((samples, data), (beside, cloud_data)):
            if arrays is not None:
                with path.open("wb") as file:
                    write_arrays(file, arrays)
        try:
            yield _Own(
                paths["device"],
                samples,
                lambda told: line.show(f"simulated {told.share:.0%}, {told.rounds} rounds"),
                paths.get("cloud"),
                None if cloud_data is None else beside,
            )
        except CoterieError as error:
            raise Rejected(error.code, str(error).replace(f"{directory}/", ""), error.fields) from error
        except WireError as error:
            raise Rejected(error.code, error.detail) from error


def simulate_fleet(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    split: str,
    devices: int | None = None,
    each: int | None = None,
    rounds: int = 100,
    days: float = 30.0,
    seed: int = 0,
    executor: Literal["auto", "batched", "exact"] = "auto",
    workers: int | None = None,
    batch_size: int = BATCH_SIZE,
    held_out_share: float = 0.2,
    evaluate_every: int = 1,
    fleet: str | Path | None = None,
    drift: str | None = None,
    cloud: nn.Module | None = None,
    cloud_data: Mapping[str, ArrayLike] | None = None,
    keep: str | Path | None = None,
    on: On = "here",
    progress: bool = True,
) -> Simulated:
    """Run a `plan` on as many devices as wanted, which have their samples from the beginning, or get them over time.

    `data` are arrays of as many rows: ``y`` with classes, ``x`` or the model's inputs by their names, and what else
    tells samples apart. `split` divides them: ``iid``, ``dirichlet:0.3``, ``pathological:2`` or ``by:user``; with
    `each`, every device draws so many with replacement. The `held_out_share` (a fifth) is nobody's: versions are judged
    on it, one in `evaluate_every`, and the last. `executor`
    trains many devices in one step (``batched``) or one by one by the agent's own code (``exact``).
    `fleet` is a shipped profile (``phones``), or a file: a profile, or a fleet's trace. With a `drift` samples come
    evenly over the `days`, as plans need whose devices help each other: ``steady``, ``introduced:0.3`` (on so many
    devices a class is new in the second half) or ``by:time`` (in the order of an array). `cloud` is a cloud model that
    learns from `cloud_data` and teaches devices. A simulation that was killed goes on from the directory `keep`, which
    one with a drift, a cloud model or meetings of devices does not take. `on` performs it: this machine, ``ray``, or a
    platform's workers (`connect`).
    `workers` processes train, by default one a core. The same arguments give the same outcome, whatever `workers`
    and `on` are. Raises InvalidPlan, or Rejected where plan, model and data do not fit the simulator.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    with _own(device, example, data, progress=progress, cloud=cloud, cloud_data=cloud_data) as own:
        asked = RunOptions(
            split, devices, each, rounds, days, seed, executor, workers, batch_size, held_out_share, evaluate_every
        )
        held = own.fleet(contender, asked, fleet=fleet, drift=drift)
        if on == "here":
            outcome = hold_rounds(held, report=own.show, keep=None if keep is None else Path(keep))
        else:
            (outcome,) = _runner(on).outcomes(
                [held], lambda done: own.show(SimulationProgress(done / rounds, int(done)))
            )
    by_round = Table.of([dict(row) for row in round_rows(outcome)], without_rows=why_no_round(outcome))
    return Simulated(outcome, by_round, Table.of([dict(figure_row(outcome))]))


def sweep(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    tries: Mapping[str, Sequence[object]],
    *,
    split: str,
    search: str = "grid",
    seeds: int = 3,
    devices: int | None = None,
    each: int | None = None,
    rounds: int = 100,
    days: float = 30.0,
    seed: int = 0,
    workers: int | None = None,
    batch_size: int = BATCH_SIZE,
    fleet: str | Path | None = None,
    drift: str | None = None,
    cloud: nn.Module | None = None,
    cloud_data: Mapping[str, ArrayLike] | None = None,
    on: On = "here",
    progress: bool = True,
) -> Swept:
    """Try a `plan` with other hyperparameters of any slot; the best is judged on seeds that nothing was chosen on.

    `tries` has values by ``SLOT.FIELD``, e.g. ``{"local.learning_rate": [0.03, 0.1]}``; `search` is ``grid``,
    ``random:N`` or ``halving``; combinations are compared on `seeds` seeds from `seed` on. The rest is as
    `simulate_fleet` takes it. Runs are performed side by side where `on` is ``ray`` or a platform. The same arguments
    give the same outcome, whatever `workers` and `on` are. Raises InvalidPlan or Rejected.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    with _own(device, example, data, progress=progress, cloud=cloud, cloud_data=cloud_data) as own:
        asked = RunOptions(split, devices, each, rounds, days, seed, workers=workers, batch_size=batch_size)
        held = own.fleet(contender, asked, fleet=fleet, drift=drift)
        dimensions = _dimensions(tries)
        outcome = run_sweep(held, dimensions, search=search, seeds=seeds, report=own.show, runner=_runner(on))
    return Swept(outcome, Table.of([dict(row) for row in tried_rows(outcome)]))


@dataclass(frozen=True)
class Proposed:
    """Plans for a goal, and what they take."""

    outcome: Proposals
    proposals: Table
    """A row a plan, those that reach the goal first: what differs from the given one, its figures, and why."""

    def frame(self) -> "DataFrame":
        """The proposals as a data frame of pandas. Raises ModuleNotFoundError where that is not installed."""
        return self.proposals.frame()

    def plot(self) -> "Figure":
        """Accuracy against time, bytes, energy and updates that leave a device. Raises ModuleNotFoundError."""
        from coterie.simulation.plot import proposals_figure

        return proposals_figure(self.outcome)


def propose_plans(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    accuracy: float,
    within_s: float,
    bytes_per_device: float | None = None,
    joules_per_device: float | None = None,
    epsilon: float | None = None,
    tries: Mapping[str, Sequence[object]] | None = None,
    split: str,
    seeds: int = 2,
    devices: int | None = None,
    each: int | None = None,
    rounds: int = 90,
    seed: int = 0,
    workers: int | None = None,
    batch_size: int = BATCH_SIZE,
    fleet: str | Path | None = None,
    drift: str | None = None,
    cloud: nn.Module | None = None,
    cloud_data: Mapping[str, ArrayLike] | None = None,
    network: NetworkName = "wifi",
    on: On = "here",
    progress: bool = True,
) -> Proposed:
    """Search for plans that reach an accuracy within a time, for so many bytes and joules of a device that takes part.

    `epsilon` is what may be told of any device, at a delta of 10⁻⁶.

    Tries a `plan` with other step sizes, passes, codecs and sizes of rounds, or with what `tries` names, as `sweep`
    takes it; the best are judged on `seeds` seeds that chose nothing. The rest is as `simulate_fleet` takes it; with a
    `drift` samples come over the time of the goal, and the accuracy is that of predictions before devices learn.
    The same arguments give the same proposals, whatever `workers` and `on` are. Raises InvalidPlan or Rejected.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    goal = Goal(accuracy, within_s, bytes_per_device, joules_per_device, epsilon)
    with _own(device, example, data, progress=progress, cloud=cloud, cloud_data=cloud_data) as own:
        asked = RunOptions(split, devices, each, rounds, seed=seed, workers=workers, batch_size=batch_size)
        held = own.fleet(contender, asked, fleet=fleet, drift=drift)
        dimensions = _dimensions(tries or {}) or usual_dimensions(held)
        costs = _costs(network)
        found = propose(held, goal, dimensions, seeds=seeds, costs=costs, report=own.show, runner=_runner(on))
    return Proposed(found, Table.of([dict(row) for row in proposal_rows(found)]))


def _dimensions(tries: Mapping[str, Sequence[object]]) -> list[Dimension]:
    """Raises DoesNotFit where not a sequence of values is tried."""
    dimensions = []
    for path, given in tries.items():
        values: object = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise DoesNotFit(detail=f"of {path} {values!r} is to be tried, which is no list of values: [{values!r}]")
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        dimensions.append(Dimension(path, plain))
    return dimensions


def _costs(network: NetworkName) -> Costs:
    if network not in RADIOS:
        raise DoesNotFit(detail=f"there is no network {network!r}; there is {', '.join(RADIOS)}")
    return Costs(network=network)


def _runner(on: On) -> Runner:
    if on == "here":
        return HERE
    if on == "ray":
        return OnRay()
    if isinstance(on, str):
        raise DoesNotFit(detail=f'{on!r} performs no runs; "here", "ray", or what connect gave does')
    return OnPlatform(on.rest.http)
