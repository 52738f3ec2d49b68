"""Comparison of four approaches on one scenario: offloading, distributed, federated, collaborative."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from coterie.evaluation.device_accuracy import DeviceAccuracy
from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.baselines.distributed import Distributed
from coterie.simulation.contenders import Contender, contender_document, read_contender
from coterie.simulation.costs import Cost, Costs, cost_of
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.ledger import Used
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.scenario import Scenario
from coterie.simulation.simulate import simulate
from coterie_learning.plan import Document, Plan

WayName = Literal["offloading", "distributed", "federated", "collaborative"]
SMOOTHED = 5
"""Batches over which the accuracy is averaged to compare it with the target."""
NEAR_BEST = 0.95
"""The default target: this share of the best approach's accuracy."""


class Way(msgspec.Struct, frozen=True):
    """One approach, with its accuracy and its cost."""

    name: WayName
    plan: Document
    accuracy: DeviceAccuracy
    reaches_target_s: float | None
    """Simulated seconds until the devices' accuracy was as good as the target; null: it never was."""
    cost: Cost
    exposed_samples: int
    """Samples that left their device."""
    answers_offline: bool
    """Whether devices can predict offline."""


class WaysOutcome(msgspec.Struct, frozen=True):
    """The same arguments give the same bytes."""

    scenario: str
    devices: int
    seed: int
    target: float
    """Accuracy, the mean over devices."""
    costs: Costs
    ways: Sequence[Way]

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


USUAL = Costs()


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison, beside the scenario."""

    plan: Plan
    """The federated way."""
    devices: int
    seed: int = 0
    target: float | None = None
    costs: Costs = USUAL


def compare_ways(asked: ComparisonOptions, scenario: Scenario, *, report: Report) -> WaysOutcome:
    """Run all four on the same devices and samples. Raises DoesNotFit, and what `simulate` raises."""
    if not asked.plan.pace.holds_rounds():
        raise DoesNotFit(detail=f"the federated way holds rounds, and pace {asked.plan.pace.name} does not")
    if asked.target is not None and not 0 < asked.target <= 1:
        raise DoesNotFit(detail=f"the target is {asked.target:g}, and an accuracy is above 0 and at most 1")
    contenders = dict(_contenders(asked.plan))
    outcomes: dict[WayName, SimulationOutcome] = {}
    # Plans ask more of a model than baselines do: one that does not fit is refused before the baselines run.
    for place, (name, contender) in enumerate(reversed(contenders.items())):
        outcomes[name] = simulate(
            contender, scenario, devices=asked.devices, seed=asked.seed, report=_part(report, place, len(contenders))
        )
    best = max(outcome.accuracy.mean for outcome in outcomes.values())
    target = NEAR_BEST * best if asked.target is None else asked.target
    return WaysOutcome(
        scenario=scenario.title,
        devices=asked.devices,
        seed=asked.seed,
        target=target,
        costs=asked.costs,
        ways=[
            _way(name, contender, outcomes[name], scenario, asked.costs, target)
            for name, contender in contenders.items()
        ],
    )


def _contenders(plan: Plan) -> Iterator[tuple[WayName, Contender]]:
    yield "offloading", read_contender("offloading")
    yield "distributed", read_contender("distributed")
    yield "federated", plan
    yield "collaborative", read_contender("cartel")


def _part(report: Report, place: int, count: int) -> Report:
    return lambda told: report(SimulationProgress((place + told.share) / count, told.rounds))


def _way(
    name: WayName, contender: Contender, outcome: SimulationOutcome, scenario: Scenario, costs: Costs, target: float
) -> Way:
    samples = sum(sum(device.samples) for device in outcome.devices)
    is_offloaded = isinstance(contender, Centralised) and contender.answers == "cloud"
    passes = contender.epochs if isinstance(contender, Centralised | Distributed) else 0
    used = Used(outcome.bytes_by_kind, outcome.messages_by_kind, outcome.trained_s)
    answered = samples * costs.predict_share if is_offloaded else 0.0
    return Way(
        name=name,
        plan=contender_document(contender),
        accuracy=outcome.accuracy,
        reaches_target_s=_reached_s(outcome, target),
        cost=cost_of(
            used,
            scenario.speed,
            costs,
            predicted=0 if is_offloaded else samples,
            server_samples=round(samples * passes + answered),
        ),
        exposed_samples=samples if "raw" in outcome.bytes_by_kind else 0,
        answers_offline=not is_offloaded,
    )


def _reached_s(outcome: SimulationOutcome, target: float) -> float | None:
    """When the mean over the last few batches first reached the target."""
    met = [(tick, one) for tick, one in enumerate(outcome.accuracy_by_tick) if one is not None]
    for end in range(SMOOTHED, len(met) + 1):
        if sum(one for _, one in met[end - SMOOTHED : end]) / SMOOTHED >= target:
            return (met[end - 1][0] + 1) * outcome.tick_s
    return None


def way_rows(outcome: WaysOutcome) -> Sequence[Mapping[str, str | int | float | bool | None]]:
    """One row a way, figures of costs a device."""
    devices = outcome.devices
    return [
        {
            "way": way.name,
            "accuracy": way.accuracy.mean,
            "worst_tenth": way.accuracy.worst_decile,
            "reaches_target_s": way.reaches_target_s,
            "up_bytes": way.cost.up_bytes / devices,
            "down_bytes": way.cost.down_bytes / devices,
            "server_bytes": way.cost.server_bytes,
            "busy_s": (way.cost.radio_s + way.cost.device_compute_s) / devices,
            "joules": way.cost.device_joules / devices,
            "server_joules": way.cost.server_joules,
            "exposed_samples": way.exposed_samples,
            "answers_offline": way.answers_offline,
        }
        for way in outcome.ways
    ]
