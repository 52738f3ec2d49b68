"""Runners of a sweep: this process, Ray, or a platform's workers. All give the same bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.progress import SimulationProgress

ReportRounds = Callable[[float], None]
"""Called with the number of rounds held in all runs; a run that ended early counts as complete."""


class Runner(Protocol):
    """Performs runs of one fleet."""

    def outcomes(self, runs: Sequence[FleetRun], report: ReportRounds) -> Sequence[FleetOutcome]:
        """Outcomes in the order of `runs`, which differ only in plan, seed, rounds and measurements.

        Raises what `simulate_fleet` raises of the first that fails, and what the way there raises.
        """


class LocalRunner:
    """Performs runs one after the other, each with its number of worker processes."""

    def outcomes(self, runs: Sequence[FleetRun], report: ReportRounds) -> Sequence[FleetOutcome]:
        found: list[FleetOutcome] = []
        held = 0
        for run in runs:
            found.append(simulate_fleet(run, report=partial(_report_share, report, held, run.rounds)))
            held += run.rounds
        return found


HERE = LocalRunner()


def _report_share(report: ReportRounds, held: int, rounds: int, progress: SimulationProgress) -> None:
    report(held + progress.share * rounds)
