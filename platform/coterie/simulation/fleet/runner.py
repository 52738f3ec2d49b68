"""Who performs the runs of a sweep: this process, Ray, or a platform's workers. The outcomes are the same bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.progress import SimulationProgress

Tell = Callable[[float], None]
"""Told how many rounds of all runs have been held, one that ended early counted as if it had held all."""


class Runner(Protocol):
    """Performs runs of one fleet."""

    def outcomes(self, runs: Sequence[FleetRun], tell: Tell) -> Sequence[FleetOutcome]:
        """In the order of `runs`, which differ in plan, seed, rounds and measurements alone.

        Raises what `simulate_fleet` raises of the first that fails, and what the way there raises.
        """


class LocalRunner:
    """One after the other, each with as many processes as it has workers."""

    def outcomes(self, runs: Sequence[FleetRun], tell: Tell) -> Sequence[FleetOutcome]:
        found: list[FleetOutcome] = []
        held = 0
        for run in runs:
            found.append(simulate_fleet(run, report=partial(_told, tell, held, run.rounds)))
            held += run.rounds
        return found


HERE = LocalRunner()


def _told(tell: Tell, held: int, rounds: int, progress: SimulationProgress) -> None:
    tell(held + progress.share * rounds)
