"""A scenario that takes moments: four devices, two digits each, batches of ten."""

from coterie.simulation.contenders import Contender
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Scenario, parse_scenario
from coterie.simulation.simulate import simulate
from coterie_learning.plan import parse_plan

SCENARIO: dict[str, object] = {
    "title": "Small",
    "devices": 4,
    "window": 3,
    "stream": {
        "kind": "digits",
        "batches": 8,
        "batch_size": 10,
        "batch_s": 60,
        "arrives_at": 4,
        "profiles": [{"classes": [0, 1], "arrives": 7}, {"classes": [0, 7]}],
    },
    "learner": {"kind": "neural", "hidden": 4, "batch_size": 10},
    "speed": {"sample_s": 0.05},
}
ROUNDS = {"kind": "sync", "target_updates": 2, "over_selection": 1, "min_updates": 2, "deadline_s": 200, "pause_s": 20}


def scenario(**changes: object) -> Scenario:
    return parse_scenario({**SCENARIO, **changes}, path="small.toml")


def run(
    contender: Contender | dict[str, object], scenario_: Scenario | None = None, *, seed: int = 0
) -> SimulationOutcome:
    plan = parse_plan(contender) if isinstance(contender, dict) else contender
    chosen = scenario_ or scenario()
    return simulate(plan, chosen, devices=chosen.devices, seed=seed, report=unreported)
