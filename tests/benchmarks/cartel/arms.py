"""One simulation of the benchmark, as a value that another process can run."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import msgspec
import torch

from coterie.simulation.contenders import read_contender
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import parse_scenario, read_toml, shipped_scenarios
from coterie.simulation.simulate import simulate
from coterie_learning.plan import parse_plan, plan_document, presets
from tests.benchmarks.cartel.settings import Document

PROCESSES = 2


class Arm(msgspec.Struct, frozen=True):
    """A plan, or a baseline, on a scenario."""

    plan: str
    scenario: str
    seed: int
    learner: Document
    local: Document = {}
    """What differs from the plan's own."""
    help: Document = {}
    profiles: list[Document] = []
    """Of the devices, where they are not the scenario's."""


def run_arms(arms: Sequence[Arm]) -> list[SimulationOutcome]:
    """The outcomes in the order of `arms`, run side by side."""
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        return [
            msgspec.json.decode(found, type=SimulationOutcome)
            for found in pool.map(_run, map(msgspec.json.encode, arms))
        ]


def _run(raw: bytes) -> bytes:
    torch.set_num_threads(1)
    arm = msgspec.json.decode(raw, type=Arm)
    scenario = msgspec.convert(read_toml(shipped_scenarios()[arm.scenario]), Document)
    scenario["learner"] = arm.learner
    if arm.profiles:
        scenario["stream"] = {**msgspec.convert(scenario["stream"], Document), "profiles": arm.profiles}
    parsed = parse_scenario(scenario, path=arm.scenario)
    if arm.plan in presets():
        plan = plan_document(presets()[arm.plan])
        for slot, changes in (("local", arm.local), ("help", arm.help)):
            plan[slot] = {**msgspec.convert(plan[slot], Document), **changes}
        contender = parse_plan(plan)
    else:
        contender = read_contender(arm.plan)
    outcome = simulate(contender, parsed, devices=parsed.devices, seed=arm.seed, report=unreported)
    return msgspec.json.encode(outcome)
