"""Proposes plans for a goal: an accuracy within a time, and limits on bytes, joules and epsilon of a device.

Plans with other hyperparameters are tried on one fleet with few rounds, the best third with three times as many, and so
on (successive halving, as `coterie.simulation.fleet.sweep`); those that are left run until the time is over, on seeds
that chose nothing. A plan reaches the goal where it does so on every one of these seeds.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import median
from typing import NamedTuple

import msgspec

from coterie.simulation.clock import DAY_S, in_words
from coterie.simulation.costs import Costs, cost_of_device
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.runner import HERE, Runner
from coterie.simulation.fleet.sweep import FACTOR, Dimension, Values, changed, check_seeds
from coterie.simulation.ledger import Used
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.recovery import BATCHES
from coterie_learning.plan import Document, Plan, plan_document

FINALISTS = 4
USUAL = Costs()


class Goal(msgspec.Struct, frozen=True):
    """The goal of a plan."""

    accuracy: float
    """On samples held out; where samples come over time, of predictions before devices learn from them."""
    within_s: float
    bytes_per_device: float | None = None
    """Up and down, the mean over devices that took part; None: as many as it takes."""
    joules_per_device: float | None = None
    epsilon: float | None = None
    """That versions and updates may tell of any device, at `DELTA`; None: whatever they tell."""


class PlanFigures(msgspec.Struct, frozen=True):
    """Figures of a plan when it reaches the accuracy, or at the end; medians over the judging seeds."""

    accuracy: float
    reaches_s: float | None
    """Simulated seconds until a version, or where samples come over time the devices, were as accurate; null: not on
    every seed."""
    rounds: int
    bytes_per_device: float
    joules_per_device: float
    updates_per_device: float
    """That left a device which took part."""
    epsilon: float | None
    """Told of the device of which most is; null: the plan's privacy kind guarantees nothing."""


class Proposal(msgspec.Struct, frozen=True):
    """A proposed plan, its figures, and the reason."""

    plan: Document
    values: Values
    """What differs from the plan that was given; empty: it is that plan."""
    figures: PlanFigures
    reaches_goal: bool
    privacy: str
    """The kind in its slot `privacy`."""
    reason: str


class Proposals(msgspec.Struct, frozen=True):
    """The same arguments give the same bytes."""

    goal: Goal
    tried: int
    seeds: Sequence[int]
    """The first chose; on the others, proposals were judged."""
    proposals: Sequence[Proposal]
    """Those that reach the goal first, the quickest first; then the nearest to it."""

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def usual_dimensions(run: FleetRun) -> Sequence[Dimension]:
    """Default dimensions: learning rate, epochs, codec and round size, as far as the plan has them."""
    devices = run.devices or math.inf
    sizes = [size for size in (10, 30, 100) if size <= devices / 3] or [max(1, int(min(devices, 10) // 2))]
    every = (
        Dimension("local.learning_rate", (0.03, 0.1, 0.3)),
        Dimension("local.epochs", (1, 3)),
        Dimension("codec.kind", ("float32", "int8")),
        Dimension("pace.target_updates", tuple(sizes)),
        *_noise(run.plan),
    )
    taken = [
        Dimension(path, tuple(one for one in values if _is_taken(run.plan, {path: one}))) for path, values in every
    ]
    return [one for one in taken if one.values]


def _noise(plan: Plan) -> Iterator[Dimension]:
    """Half and twice the noise, where the plan has any: the trade-off of privacy and accuracy."""
    told = getattr(plan.privacy, "noise_multiplier", None)
    if told:
        yield Dimension("privacy.noise_multiplier", (told / 2, told, 2 * told))


def propose(
    run: FleetRun,
    goal: Goal,
    dimensions: Sequence[Dimension],
    *,
    seeds: int,
    costs: Costs = USUAL,
    report: Report,
    runner: Runner = HERE,
) -> Proposals:
    """Search, and judge the finalists; the result does not depend on the runner.

    Raises DoesNotFit, and what `simulate_fleet` and the runner raise.
    """
    if not 0 < goal.accuracy <= 1 or goal.within_s <= 0:
        raise DoesNotFit(detail="a goal is an accuracy of at most 1, and some time")
    for limit in ("bytes_per_device", "joules_per_device", "epsilon"):
        if (value := getattr(goal, limit)) is not None and value <= 0:
            raise DoesNotFit(detail=f"the goal's {limit} is {value:g}, and has to be above 0")
    check_seeds(seeds)
    search = _Search(replace(run, days=goal.within_s / DAY_S), goal, costs, report, runner)
    return search.run_to_end(dimensions, seeds)


@dataclass(eq=False)
class _Search:
    run: FleetRun
    goal: Goal
    costs: Costs
    report: Report
    runner: Runner
    done: float = 0.0
    ahead: float = 1.0

    def run_to_end(self, dimensions: Sequence[Dimension], seeds: int) -> Proposals:
        paths = [one.path for one in dimensions]
        candidates: list[Values] = [
            dict(zip(paths, values, strict=True)) for values in product(*(one.values for one in dimensions))
        ]
        plans = [_fitting(self.run.plan, values) for values in candidates]
        stages = list(_stages(len(candidates), self.run.rounds))
        finalists = min(FINALISTS, len(candidates))
        self.ahead = sum(count * rounds for count, rounds in stages) + (finalists + 1) * seeds * self.run.rounds * 1.5
        left = list(range(len(candidates)))
        for count, rounds in stages:
            left = left[:count]
            found = self._held([self._run(plans[place], self.run.seed, rounds, every=rounds) for place in left])
            scores = dict(zip(left, found, strict=True))
            left.sort(key=lambda place: (-_worth(scores[place], self.goal), place))
        judging = list(range(self.run.seed + 1, self.run.seed + 1 + seeds))
        chosen: list[tuple[Values, Plan]] = [({}, self.run.plan)]
        chosen += [(candidates[place], plans[place]) for place in left[:finalists]]
        figures_of = self._judged([plan for _, plan in chosen], judging)
        judged = [(values, plan, figures) for (values, plan), figures in zip(chosen, figures_of, strict=True)]
        own = judged[0][2]
        proposals = [
            Proposal(
                plan_document(plan),
                values,
                figures,
                self._misses(figures) is None,
                plan.privacy.name,
                self._reason(values, figures, own, [one for _, _, one in judged]),
            )
            for values, plan, figures in judged
        ]
        proposals.sort(key=lambda one: (not one.reaches_goal, one.figures.reaches_s or math.inf, -one.figures.accuracy))
        return Proposals(self.goal, len(candidates), [self.run.seed, *judging], proposals)

    def _run(self, plan: Plan, seed: int, rounds: int, *, every: int = 1) -> FleetRun:
        return replace(self.run, plan=plan, seed=seed, rounds=rounds, evaluate_every=every)

    def _held(self, runs: Sequence[FleetRun]) -> Sequence[FleetOutcome]:
        found = self.runner.outcomes(runs, self._report_rounds) if runs else []
        self.done += sum(run.rounds for run in runs)
        return found

    def _report_rounds(self, rounds: float) -> None:
        self.report(SimulationProgress(min(1.0, (self.done + rounds) / self.ahead), int(self.done + rounds)))

    def _judged(self, plans: Sequence[Plan], seeds: Sequence[int]) -> Iterator[PlanFigures]:
        """Outcomes of each plan, on all seeds."""
        every = self._figures([self._run(plan, seed, self.run.rounds) for plan in plans for seed in seeds])
        for begin in range(0, len(every), len(seeds)):
            yield _medians(every[begin : begin + len(seeds)])

    def _figures(self, runs: Sequence[FleetRun]) -> Sequence[PlanFigures]:
        """Figures of each run until it reaches the accuracy; later costs are not counted."""
        outcomes = list(self._held(runs))
        moments = [_moments(outcome) for outcome in outcomes]
        reached = [next((one for one in those if one.accuracy >= self.goal.accuracy), None) for those in moments]
        early = {
            at: one.ending(runs[at])
            for at, one in enumerate(reached)
            if one is not None and not one.is_end_of(outcomes[at])
        }
        for at, outcome in zip(early, self._held(list(early.values())), strict=True):
            outcomes[at] = outcome
        return [
            self._costs(outcome, those, one) for outcome, those, one in zip(outcomes, moments, reached, strict=True)
        ]

    def _costs(self, outcome: FleetOutcome, moments: Sequence["_Moment"], reached: "_Moment | None") -> PlanFigures:
        used = Used(outcome.bytes_by_kind, outcome.messages_by_kind, outcome.trained_s)
        cost = cost_of_device(used, self.run.speed, self.costs, devices=outcome.participants)
        return PlanFigures(
            accuracy=(reached or moments[-1]).accuracy if moments else outcome.accuracy,
            reaches_s=None if reached is None else reached.at_s,
            rounds=len(outcome.rounds),
            bytes_per_device=cost.bytes,
            joules_per_device=cost.joules,
            updates_per_device=outcome.client_rounds / max(1, outcome.participants),
            epsilon=outcome.epsilon,
        )

    def _misses(self, figures: PlanFigures) -> str | None:
        """Why it misses the goal, as a sentence; None: it does not."""
        goal = self.goal
        if figures.reaches_s is None:
            is_cut = self.run.drift is None and figures.rounds >= self.run.rounds
            ended = f"{self.run.rounds} rounds, and no more were tried" if is_cut else in_words(goal.within_s)
            return f"reaches {figures.accuracy:.3f} of {goal.accuracy:.3f} in {ended}"
        if goal.bytes_per_device is not None and figures.bytes_per_device > goal.bytes_per_device:
            return f"takes {figures.bytes_per_device / goal.bytes_per_device:.1f} times the bytes"
        if goal.joules_per_device is not None and figures.joules_per_device > goal.joules_per_device:
            return f"takes {figures.joules_per_device / goal.joules_per_device:.1f} times the energy"
        if goal.epsilon is not None and figures.epsilon is None:
            return "guarantees no device anything (presets private, private-strict and dpftrl do)"
        if goal.epsilon is not None and (figures.epsilon or 0) > goal.epsilon:
            return f"tells epsilon {figures.epsilon:.3g} of a device, where at most {goal.epsilon:g} is wanted"
        return None

    def _reason(self, values: Values, figures: PlanFigures, own: PlanFigures, every: Sequence[PlanFigures]) -> str:
        misses = self._misses(figures)
        if misses is not None:
            return f"Misses the goal: it {misses}."
        good = [one for one in every if self._misses(one) is None]
        best = [
            name
            for name, of in BEST.items()
            if len(good) > 1 and of(figures) == min(map(of, good)) and math.isfinite(of(figures))
        ]
        took = f"{figures.rounds} round{'' if figures.rounds == 1 else 's'}"
        if self.run.drift is not None:  # most of the time is then between rounds, if there are any
            took = in_words(figures.reaches_s or 0.0)
        told = f"Reaches the goal after {took}"
        told += f", {_listed(best)} of those that do." if best else "."
        if not values:
            return f"{told} It is the plan as it is."
        if own.reaches_s is None or figures.reaches_s is None:
            return f"{told} The plan as it is does not."
        ratios = {
            "time": figures.reaches_s / max(own.reaches_s, 1e-9),
            "bytes": figures.bytes_per_device / max(own.bytes_per_device, 1e-9),
            "energy": figures.joules_per_device / max(own.joules_per_device, 1e-9),
        }
        if figures.epsilon and own.epsilon:
            ratios["epsilon"] = figures.epsilon / own.epsilon
        return (
            f"{told} Beside the plan as it is: " + ", ".join(f"{what} x{of:.2g}" for what, of in ratios.items()) + "."
        )


BEST: Mapping[str, Callable[[PlanFigures], float]] = {
    "the quickest": lambda one: one.reaches_s or math.inf,
    "the one with the fewest bytes": lambda one: one.bytes_per_device,
    "the one with the least energy": lambda one: one.joules_per_device,
    "the one that asks a device least often": lambda one: one.updates_per_device,
    "the one that tells least of a device": lambda one: math.inf if one.epsilon is None else one.epsilon,
}


class _Moment(NamedTuple):
    """When it was measured how accurate devices are, or the version that they get."""

    at_s: float
    accuracy: float
    rounds: int | None
    """Held until then; None: samples come over time, and rounds do not say how much of it is over."""

    def is_end_of(self, outcome: FleetOutcome) -> bool:
        """Whether it is the end of the outcome."""
        return self.at_s >= outcome.simulated_s if self.rounds is None else self.rounds == len(outcome.rounds)

    def ending(self, run: FleetRun) -> FleetRun:
        """`run`, shortened to end at this moment."""
        if self.rounds is None:
            return replace(run, ends_s=self.at_s)
        return replace(run, rounds=self.rounds, evaluate_every=self.rounds)


def _moments(outcome: FleetOutcome) -> Sequence[_Moment]:
    """Of one simulation, in their order; where samples come over time, each is the mean of the latest few times."""
    if outcome.tick_s is None:
        return [_Moment(one.ended_s, one.accuracy, one.number) for one in outcome.rounds if one.accuracy is not None]
    met = [(tick, accuracy) for tick, accuracy in enumerate(outcome.accuracy_by_tick) if accuracy is not None]
    found = []
    for end in range(BATCHES, len(met) + 1):
        latest = [accuracy for _, accuracy in met[end - BATCHES : end]]
        found.append(_Moment((met[end - 1][0] + 1) * outcome.tick_s, math.fsum(latest) / BATCHES, None))
    return found


def _medians(every: Sequence[PlanFigures]) -> PlanFigures:
    """Over seeds; it reaches the accuracy where it does on all of them."""
    reached = [one.reaches_s for one in every if one.reaches_s is not None]
    told = [one.epsilon for one in every if one.epsilon is not None]
    return PlanFigures(
        accuracy=median(one.accuracy for one in every),
        reaches_s=median(reached) if len(reached) == len(every) else None,
        rounds=round(median(one.rounds for one in every)),
        bytes_per_device=median(one.bytes_per_device for one in every),
        joules_per_device=median(one.joules_per_device for one in every),
        updates_per_device=median(one.updates_per_device for one in every),
        epsilon=max(told, default=None),
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _fitting(plan: Plan, values: Values) -> Plan:
    """`plan` with `values`; a round that wants fewer updates than it needs at least, needs as many as it wants."""
    wanted = values.get("pace.target_updates")
    least = plan_document(plan).get("pace")
    if isinstance(wanted, int) and isinstance(least, dict) and isinstance(least.get("min_updates"), int):
        values = {**values, "pace.min_updates": min(wanted, least["min_updates"])}
    return changed(plan, values)


def _is_taken(plan: Plan, values: Values) -> bool:
    try:
        _fitting(plan, values)
    except DoesNotFit:
        return False
    return True


def _worth(outcome: FleetOutcome, goal: Goal) -> float:
    """Accuracy up to the goal's, less what exceeds limits: among those that are good enough, the lean ones go on."""
    limits = ((outcome.bytes_per_device, goal.bytes_per_device), (outcome.epsilon, goal.epsilon))
    over = sum(
        max(0.0, math.log(max(1e-9, found) / wanted)) for found, wanted in limits if wanted is not None and found
    )
    return min(outcome.accuracy, goal.accuracy) - 0.1 * over


def _stages(count: int, rounds: int) -> Iterator[tuple[int, int]]:
    """How many candidates get how many rounds, until a few are left."""
    steps = max(0, math.ceil(math.log(count / FINALISTS, FACTOR))) if count > FINALISTS else 0
    for step in range(steps, 0, -1):
        yield max(FINALISTS, math.ceil(count / FACTOR ** (steps - step))), max(1, rounds // FACTOR**step)
