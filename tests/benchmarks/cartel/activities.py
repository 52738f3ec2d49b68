"""Cartel where people take up an activity: one that is hard to learn, one that nobody else knows, one that is easy."""

from collections.abc import Sequence
from statistics import mean, stdev

from coterie.simulation.outcome import DeviceOutcome, SimulationOutcome
from tests.benchmarks.cartel.arms import Arm
from tests.benchmarks.cartel.settings import Settings, learner_of
from tests.benchmarks.report import Figure

PLANS = ("isolated", "cartel")


def activity_arms(settings: Settings) -> dict[tuple[str, ...], list[Arm]]:
    """By scenario and plan."""
    return {
        (scenario, plan): [Arm(plan, scenario, seed, learner_of(scenario)) for seed in settings.activities.seeds]
        for scenario in settings.activities.scenarios
        for plan in PLANS
    }


def activity_figures(
    case: str, settings: Settings, isolated: Sequence[SimulationOutcome], cartel: Sequence[SimulationOutcome]
) -> list[Figure]:
    """Accuracy of whoever took the activity up, of everybody, and of whoever lost most; and what became of requests."""
    batches = settings.activities.after_batches
    after = [(_after(alone, batches), _after(helped, batches)) for alone, helped in zip(isolated, cartel, strict=True)]
    everybody = [(alone.accuracy.mean, helped.accuracy.mean) for alone, helped in zip(isolated, cartel, strict=True)]
    least = min(
        with_.accuracy - without.accuracy
        for alone, helped in zip(isolated, cartel, strict=True)
        for without, with_ in zip(alone.devices, helped.devices, strict=True)
        if with_.accuracy is not None and without.accuracy is not None
    )
    ends = [one.outcome for outcome in cartel for one in outcome.help]
    told = ", ".join(f"{ends.count(end)} {end}" for end in ("kept", "undone", "unmatched"))
    return [
        _gain(case, f"accuracy in the {batches} batches from the change on, the device whose data change", after),
        _gain(case, "accuracy over all, mean of the devices", everybody),
        Figure(case, "what the device that lost most lost", 100 * least, "points, over all its batches"),
        Figure(case, "help requests", len(ends), f"in {len(cartel)} seeds: {told}"),
    ]


def _gain(case: str, what: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    alone, helped = (mean(pair[index] for pair in pairs) for index in (0, 1))
    differences = [100 * (helped - alone) for alone, helped in pairs]
    gained = f"{mean(differences):+.2f} ± {stdev(differences):.2f} points; of each seed " + ", ".join(
        f"{one:+.1f}" for one in differences
    )
    return Figure(case, what, helped, gained, f"isolated, {alone:.3f}", helped / alone)


def _after(outcome: SimulationOutcome, batches: int) -> float:
    (shift,) = outcome.recoveries
    device: DeviceOutcome = next(one for one in outcome.devices if one.name == shift.device)
    within = slice(shift.tick, shift.tick + batches)
    return sum(device.correct[within]) / sum(device.samples[within])
