"""Sweeps: a plan with other hyperparameters, tried on some seeds; the winner is judged on seeds that chose nothing.

`grid` tries every combination, `random:N` so many of them, and `halving` all of them with few rounds, then the best
third with three times as many, until one has all (successive halving: Jamieson and Talwalkar 2016, arXiv 1502.07943,
Figure 3, with a factor of 3). Where devices use personal models, the accuracy on devices decides: the version's
accuracy says nothing about personal layers.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import product
from typing import Literal, NamedTuple, cast

import msgspec
import numpy as np

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.runner import HERE, Runner
from coterie.simulation.progress import Report, SimulationProgress
from coterie_learning.detectors import DRIFT
from coterie_learning.device_plan import CODEC
from coterie_learning.plan import SLOTS, Document, Plan, parse_plan, plan_document
from coterie_learning.random import derive_seed
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json

FACTOR = 3
KIND = ".kind"
Values = Mapping[str, object]
"""By ``SLOT.FIELD``."""
Figure = Literal["accuracy", "device_accuracy_mean"]
"""By which the best is chosen: the version's on samples held out, or the mean over devices, each on its own."""


class Dimension(NamedTuple):
    """A hyperparameter, and the values to try."""

    path: str
    values: Sequence[object]


class TriedCombination(msgspec.Struct, frozen=True):
    """One combination, with as many rounds as it was given last."""

    values: Values
    rounds: int
    accuracy: float
    """Mean over the seeds of the last version's, on samples held out."""
    device_accuracy_mean: float
    """Over devices, each with the model that it answers with and samples of its own; over the seeds, as all below."""
    device_accuracy_median: float
    device_accuracy_worst_decile: float
    """Mean over the worst tenth of devices."""
    bytes_per_device: float
    """Up and down, of a device that took part."""
    joules_per_device: float
    """Of radio and processor, of a device that took part."""


class JudgedPlan(msgspec.Struct, frozen=True):
    """A plan on the seeds that nothing was chosen on."""

    plan: Document
    accuracy: float
    """The figure by which the winner was chosen; mean over the seeds."""
    by_seed: Sequence[float]


class SweepOutcome(msgspec.Struct, frozen=True):
    """The same arguments give the same bytes."""

    search: str
    chosen_by: Figure
    seeds: Sequence[int]
    """On which combinations were compared."""
    judging_seeds: Sequence[int]
    tried: Sequence[TriedCombination]
    """The best first, of those with the most rounds."""
    winner: Values
    winner_judged: JudgedPlan
    given_judged: JudgedPlan
    """The plan as it was."""

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def parse_dimension(text: str) -> Dimension:
    """``SLOT.FIELD=VALUE,VALUE``, or ``SLOT=KIND,KIND``. Raises DoesNotFit."""
    path, _, listed = text.partition("=")
    if not all((*path.split("."), listed)) or ("." not in path and path not in SLOTS):
        raise DoesNotFit(
            detail=f"{text!r} is not SLOT.FIELD=VALUE,VALUE, like local.learning_rate=0.03,0.1 or codec=int8,float32"
        )
    return Dimension(path, [_value(one) for one in listed.split(",")])


def combinations(dimensions: Sequence[Dimension], search: str, *, seed: int) -> Sequence[Values]:
    """The combinations to try. Raises DoesNotFit."""
    for dimension in dimensions:
        if not dimension.values:
            raise DoesNotFit(detail=f"there is no value to try of {dimension.path}")
    paths = [one.path for one in dimensions]
    every = [dict(zip(paths, values, strict=True)) for values in product(*(one.values for one in dimensions))]
    name, _, count = search.partition(":")
    if search in ("grid", "halving"):
        return every
    if name != "random" or not count.isdecimal() or not int(count):
        raise DoesNotFit(detail=f"there is no search {search!r}; there is grid, random:N and halving")
    order = np.random.default_rng(derive_seed(seed, "sweep")).permutation(len(every))[: int(count)]
    return [every[place] for place in sorted(order.tolist())]


def check_seeds(seeds: int) -> None:
    """Raises DoesNotFit."""
    if seeds < 1:
        raise DoesNotFit(detail=f"{seeds} seeds are asked for, and 1 at least")


def changed(plan: Plan, values: Values) -> Plan:
    """`plan` with other kinds and hyperparameters. Raises DoesNotFit, with what the plan says of them.

    Another kind keeps the hyperparameters that both kinds have, and has its defaults of the others. A slot alone is its
    kind.
    """
    document = plan_document(plan)
    chosen = {path if "." in path else f"{path}{KIND}": value for path, value in values.items()}
    for path, value in sorted(chosen.items(), key=lambda one: not one[0].endswith(KIND)):
        slot, *names = path.split(".")
        place = document.get(slot)
        for name in names[:-1]:
            place = place.get(name) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            raise DoesNotFit(detail=f"the plan has nothing at {path}; its slots are {', '.join(document)}")
        if path.endswith(KIND) and "kind" in place:
            for field in place.keys() - _known(slot, str(place["kind"]), str(value)):
                del place[field]
        place[names[-1]] = value
    try:
        return parse_plan(document)
    except WireError as error:
        raise DoesNotFit(detail=error.detail) from error


def _known(slot: str, before: str, after: str) -> Set[str]:
    """The hyperparameters of the kind `after`, which takes the place of `before` in `slot` or in a kind there."""
    for registry in (SLOTS[slot], CODEC, DRIFT):
        if before in registry.kinds and after in registry.kinds:
            return set(registry.kinds[after].__struct_encode_fields__)
    return set()


def sweep(
    run: FleetRun,
    dimensions: Sequence[Dimension],
    *,
    search: str,
    seeds: int,
    report: Report,
    runner: Runner = HERE,
) -> SweepOutcome:
    """Try combinations, choose one, and judge it and the given plan; the result does not depend on the runner.

    Raises what `simulate_fleet` and the runner raise.
    """
    check_seeds(seeds)
    candidates = combinations(dimensions, search, seed=run.seed)
    plans = [changed(run.plan, values) for values in candidates]  # all are checked before the first run
    chosen_by = _figure_of((*plans, run.plan))
    choosing = range(run.seed, run.seed + seeds)
    judging = range(run.seed + seeds, run.seed + 2 * seeds)
    stages = list(_stages(len(candidates), run.rounds, halves=search == "halving"))
    ahead = sum(count * rounds for count, rounds in stages) * seeds + 2 * run.rounds * seeds
    trying = _Trying(run, runner, report, ahead)
    left, tried = list(range(len(candidates))), dict[int, TriedCombination]()
    for count, rounds in stages:
        left = left[:count]
        found = trying.outcomes([plans[place] for place in left], choosing, rounds)
        for place, outcomes in zip(left, found, strict=True):
            tried[place] = _tried(candidates[place], rounds, outcomes)
        left.sort(key=lambda place: (-getattr(tried[place], chosen_by), place))
    winner = left[0]
    compared = (plans[winner], run.plan)
    judged = [
        _judged(plan, outcomes, chosen_by)
        for plan, outcomes in zip(compared, trying.outcomes(compared, judging, run.rounds), strict=True)
    ]
    ranked = sorted(tried.values(), key=lambda one: (-one.rounds, -getattr(one, chosen_by)))
    return SweepOutcome(search, chosen_by, list(choosing), list(judging), ranked, candidates[winner], *judged)


def _figure_of(plans: Sequence[Plan]) -> Figure:
    has_own = any(plan.personal.rules(plan.local) is not None or plan.local.trains_personal_model() for plan in plans)
    return "device_accuracy_mean" if has_own else "accuracy"


def _tried(values: Values, rounds: int, outcomes: Sequence[FleetOutcome]) -> TriedCombination:
    def mean(figure: Callable[[FleetOutcome], float]) -> float:
        return math.fsum(map(figure, outcomes)) / len(outcomes)

    return TriedCombination(
        values,
        rounds,
        accuracy=mean(lambda one: one.accuracy),
        device_accuracy_mean=mean(lambda one: one.device_accuracy.mean),
        device_accuracy_median=mean(lambda one: one.device_accuracy.median),
        device_accuracy_worst_decile=mean(lambda one: one.device_accuracy.worst_decile),
        bytes_per_device=mean(lambda one: one.bytes_per_device),
        joules_per_device=mean(lambda one: one.joules_per_device),
    )


def _judged(plan: Plan, outcomes: Sequence[FleetOutcome], chosen_by: Figure) -> JudgedPlan:
    accuracies = [one.accuracy if chosen_by == "accuracy" else one.device_accuracy.mean for one in outcomes]
    return JudgedPlan(plan_document(plan), math.fsum(accuracies) / len(accuracies), accuracies)


def _stages(count: int, rounds: int, *, halves: bool) -> Iterator[tuple[int, int]]:
    """How many combinations get how many rounds."""
    steps = math.ceil(math.log(count, FACTOR)) if halves and count > 1 else 0
    for step in range(steps, -1, -1):
        yield math.ceil(count / FACTOR ** (steps - step)), max(1, rounds // FACTOR**step)


class _Trying:
    """A batch of simulations with one progress report."""

    def __init__(self, run: FleetRun, runner: Runner, report: Report, ahead: int) -> None:
        self._run, self._runner, self._report = run, runner, report
        self._ahead, self._done = ahead, 0

    def outcomes(self, plans: Sequence[Plan], seeds: Sequence[int], rounds: int) -> Sequence[Sequence[FleetOutcome]]:
        """Of each plan, by seed."""
        runs = [
            replace(self._run, plan=plan, seed=seed, rounds=rounds, evaluate_every=rounds)
            for plan in plans
            for seed in seeds
        ]
        found = self._runner.outcomes(runs, self._report_rounds)
        self._done += len(runs) * rounds
        return [found[begin : begin + len(seeds)] for begin in range(0, len(found), len(seeds))]

    def _report_rounds(self, rounds: float) -> None:
        self._report(SimulationProgress(min(1.0, (self._done + rounds) / self._ahead), int(self._done + rounds)))


def _value(text: str) -> object:
    """The JSON value of the text, or else the text itself."""
    try:
        return cast(object, from_json(text.encode()))
    except UNREADABLE:
        return text
