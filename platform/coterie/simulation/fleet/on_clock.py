"""A fleet whose devices do more than rounds on fixed samples: each is simulated individually on one clock.

Rounds, help between devices, local training and the cloud model are those of simulations on streams
(`coterie.simulation.components`): a fleet adds the distribution of samples and the properties of devices.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Evaluation
from coterie.simulation.clock import DAY_S
from coterie.simulation.clouds import Version
from coterie.simulation.components import Bootstrapped, local_of, make_parts, run_to_end
from coterie.simulation.device import Arrived, Device, NetworkLink
from coterie.simulation.fleet.arrivals import Arrivals
from coterie.simulation.fleet.clock_outcome import PrequentialAccuracy, measure, outcome_of
from coterie.simulation.fleet.columns import Traits
from coterie.simulation.fleet.dividing import DividedData
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome, FleetRound
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.learner import Task
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import RoundOutcome
from coterie.simulation.own_work import WINDOW
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.rounds import Rounds
from coterie.simulation.streams import Drawn
from coterie.simulation.world import World
from coterie_learning.random import derive_seed


def simulate_on_clock(run: FleetRun, setting: Setting, divided: DividedData, report: Report) -> FleetOutcome:
    """Run until the simulated days are over. Raises DoesNotFit, and what making a cloud model raises."""
    first = NeuralLearner(
        setting.graphs, local_of(run.plan), run.parameters, first=run.parameters, received=run.parameters
    )
    cloud = _bootstrapped(run, first)
    if cloud is not None:
        first = cloud.learner
    world = world_of(run, setting, divided.own, first)
    parts = make_parts(run.plan, world, first, cloud, samples=divided.platform, most_rounds=run.rounds)
    judged = PrequentialAccuracy(setting.graphs.spec.classes)
    parts = parts._replace(every=(*parts.every, judged))
    rounds = _Rounds(run, divided.held_out, parts.rounds)

    def report_rounds(progress: SimulationProgress) -> None:
        rounds.look()
        report(progress)

    run_to_end(world, parts, report_rounds, until_s=run.days * DAY_S, ends_s=run.ends_s)
    return outcome_of(run, setting, divided.held_out, world, parts, rounds.found, judged)


def _bootstrapped(run: FleetRun, first: NeuralLearner) -> Bootstrapped | None:
    if run.cloud is None:
        return None
    from coterie.simulation.cloud_model import CloudModel, Pair  # imported here: PyTorch takes seconds to import

    model, known = CloudModel.stored(run.cloud.program, run.model.spec), run.cloud.parameters
    if known is None:
        pair = model.first_pair(first, run.cloud.data, seed=derive_seed(run.seed, "cloud"))
    else:
        pair = Pair(known, run.parameters)
    return Bootstrapped(model, pair, first.beginning_with(pair.device))


def world_of(run: FleetRun, setting: Setting, own: FleetSamples, first: NeuralLearner) -> World:
    """The initial world; `own` are the samples of devices, which all start with `first`. Raises DoesNotFit."""
    count, spec = len(setting.population.sizes), setting.graphs.spec
    nothing = setting.data.take(slice(0, 0))
    drawn = Drawn(Task(spec.inputs, spec.classes), 0.0, nothing if run.cloud is None else run.cloud.data, [()] * count)
    if run.drift is not None:
        arrivals = Arrivals.drawn(own, setting.population, run.drift, batch=spec.batch_size, seed=run.seed)
        tick_s = run.days * DAY_S / arrivals.ticks
        drawn = drawn._replace(tick_s=tick_s, batches=arrivals.batches(), shifts=arrivals.shifts)
    traits = Traits.draw(run.fleet, run.plan.requirements, devices=count, seed=run.seed)
    days = traits.availability.days(np.arange(count))
    devices = []
    for number in range(count):
        rates = (traits.uplink_bytes_s, traits.downlink_bytes_s, traits.waits_s, traits.lost)
        link = NetworkLink(*(float(one[number]) for one in rates))
        device = Device(number, first, days[number], float(traits.slowness[number]), deque(maxlen=WINDOW), link)
        if run.drift is None and setting.population.sizes[number]:
            device.window.append(Arrived(0.0, setting.dataset(number), first=1))
        devices.append(device)
    return World(run.speed, 0.0, drawn, tuple(devices), run.seed)


@dataclass(eq=False)
class _Rounds:
    """Rounds that have ended, each with the accuracy of its version."""

    run: FleetRun
    held_out: Dataset
    rounds: Rounds | None
    found: list[FleetRound] = field(default_factory=list)
    measured: Version | None = None
    """The version that was measured last."""

    def look(self) -> None:
        if self.rounds is None:
            return
        for one in self.rounds.outcomes[len(self.found) :]:
            self.found.append(self._round(one, self.rounds.newest))

    def _round(self, one: RoundOutcome, version: Version) -> FleetRound:
        measured: Evaluation | None = None
        is_due = one.number % self.run.evaluate_every == 0 or one.number == self.run.rounds
        if one.outcome == "merged" and is_due:
            measured = measure(self.run, version, self.held_out)
        return FleetRound(
            number=one.number,
            opened_s=one.opened_s,
            ended_s=one.ended_s,
            invited=one.invited,
            lost=one.lost,
            delivered=one.delivered,
            diverged=0,  # a device whose training diverges releases its assignment, and delivers nothing
            outcome=one.outcome,
            accuracy=None if measured is None else measured.accuracy,
            loss=None if measured is None else measured.loss,
            staleness_mean=sum(one.staleness) / len(one.staleness) if one.staleness else None,
            staleness_most=max(one.staleness, default=None),
            fault=one.fault,
        )
