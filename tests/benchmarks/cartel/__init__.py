"""Cartel against isolated and centralised learning: batches to recover, bytes, the guard, detectors, neighbour search.

Every simulation runs through the engine of ``coterie simulate``; the settings stand in settings.toml.
"""

from collections.abc import Mapping, Sequence

from coterie.simulation.outcome import SimulationOutcome
from tests.benchmarks.cartel.activities import PLANS, activity_arms, activity_figures
from tests.benchmarks.cartel.arms import Arm, run_arms
from tests.benchmarks.cartel.detectors import alarm_figures
from tests.benchmarks.cartel.judging import byte_figures, guard_figures, recovery_figures
from tests.benchmarks.cartel.search import search_figures
from tests.benchmarks.cartel.settings import Settings, read_settings
from tests.benchmarks.report import Figure

Outcomes = Mapping[tuple[str, ...], list[SimulationOutcome]]
"""One of each seed, by what was run."""


def measure() -> Sequence[Figure]:
    """Five minutes of two cores, most of them for the forests."""
    settings = read_settings()
    found = _run(settings)
    return [
        *_claims(settings, found),
        *_controls(settings, found),
        *_cases(settings, found),
        *_activities(settings, found),
        *search_figures(),
    ]


def _run(settings: Settings) -> Outcomes:
    arms: dict[tuple[str, ...], list[Arm]] = {}
    for name, learner in settings.learners.items():
        for workload in (*settings.workloads, settings.stationary):
            for plan in ("isolated", "cartel", "centralised"):
                if (plan, workload) not in (("centralised", settings.stationary),):
                    arms[name, workload, plan] = [Arm(plan, workload, seed, learner) for seed in settings.seeds]
        for plan in ("isolated", "cartel"):
            arms[name, "control", plan] = [
                Arm(plan, settings.workloads[0], seed, learner, profiles=settings.control.profiles)
                for seed in settings.seeds
            ]
    for case in (*settings.variants, *settings.traps):
        for plan, help_ in (("isolated", {}), ("cartel", case.help)):
            arms[case.title, plan] = [
                Arm(plan, settings.workloads[0], seed, case.learner, local=case.local, help=help_)
                for seed in settings.seeds
            ]
    arms |= activity_arms(settings)
    outcomes = iter(run_arms([arm for group in arms.values() for arm in group]))
    return {key: [next(outcomes) for _ in group] for key, group in arms.items()}


def _claims(settings: Settings, found: Outcomes) -> list[Figure]:
    figures = []
    for workload in settings.workloads:
        for name in settings.learners:
            isolated, cartel = found[name, workload, "isolated"], found[name, workload, "cartel"]
            case, target = f"{workload}, {name}", settings.targets.of(name)
            figures += recovery_figures(case, isolated, cartel, target=f"target ≥ {target:g}×")
            figures += byte_figures(case, found[name, workload, "centralised"], cartel, target=settings.targets.bytes)
            figures += guard_figures(case, isolated, cartel)
    return figures


def _controls(settings: Settings, found: Outcomes) -> list[Figure]:
    figures = []
    for name in settings.learners:
        control = found[name, "control", "isolated"], found[name, "control", "cartel"]
        figures += recovery_figures(f"control: nobody knows the digit, {name}", *control, target="expected 1×")
        still = found[name, settings.stationary, "isolated"], found[name, settings.stationary, "cartel"]
        figures += guard_figures(f"control: {settings.stationary}, {name}", *still)
        changed = found[name, settings.workloads[0], "isolated"]
        figures += alarm_figures(name, settings, still[0], changed)
    return figures


def _activities(settings: Settings, found: Outcomes) -> list[Figure]:
    return [
        figure
        for case in settings.activities.scenarios
        for figure in activity_figures(case, settings, *(found[case, plan] for plan in PLANS))
    ]


def _cases(settings: Settings, found: Outcomes) -> list[Figure]:
    figures = []
    for case in settings.variants:
        outcomes = found[case.title, "isolated"], found[case.title, "cartel"]
        figures += recovery_figures(f"variant: {case.title}", *outcomes, target="beside the preset's")
        figures += guard_figures(f"variant: {case.title}", *outcomes)
        if case.centralised is not None:
            centralised = found[case.centralised, settings.workloads[0], "centralised"]
            figures += byte_figures(f"variant: {case.title}", centralised, outcomes[1], target=settings.targets.bytes)
    for case in settings.traps:
        outcomes = found[case.title, "isolated"], found[case.title, "cartel"]
        figures += recovery_figures(f"trap: {case.title}", *outcomes, target="expected: less than is claimed")
    return figures
