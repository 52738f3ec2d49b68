"""A sweep that an engineer had the platform perform: runs that found something; one failed, was cancelled, waits."""

from datetime import datetime, timedelta
from random import Random

import msgspec

from coterie.cloud.fleet_run_job import CannotRun, RunRequest
from coterie.evaluation.device_accuracy import DeviceAccuracy
from coterie.federations.models import Federation
from coterie.registry.models import Blob
from coterie.simulation.fleet.outcome import FleetOutcome, FleetRound
from coterie.simulation.fleet.shared import figures_of
from coterie.simulation_runs.leasing import MAX_ATTEMPTS
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from coterie.simulation_runs.services import key_of
from coterie_learning.plan import Document, parse_plan, plan_document

RATES = (0.01, 0.03, 0.1, 0.3)
SEEDS = 2
ROUNDS, COHORT, DEVICES = 40, 50, 2000
ROUND_S = 610.0
UPDATE_BYTES = 9_600
State = SimulationRun.State


def make_sweep(federation: Federation, file: Blob, *, asked_by: str, random: Random, now: datetime) -> None:
    """Learning rates, each with some seeds, of the federation's plan."""
    began = now - timedelta(hours=5)
    fleet = SimulatedFleet.objects.create(
        file=file, pair_name="gait.pt2", data_name="people.npz", devices=DEVICES, created_at=began, used_at=now
    )
    combinations = [(rate, seed) for rate in RATES for seed in range(SEEDS)]
    for place, (rate, seed) in enumerate(combinations):
        run = _run(fleet, federation, rate, seed, asked_by, began)
        run.started_at = began + timedelta(minutes=6 * place)
        run.finished_at = run.started_at + timedelta(minutes=5)
        if place < len(combinations) - 3:
            outcome = _outcome(run.wanted["plan"], rate, seed, random)
            run.state, run.progress, run.outcome = State.SUCCEEDED, 1.0, msgspec.json.encode(outcome).decode()
            for name, value in msgspec.structs.asdict(figures_of(outcome)).items():
                setattr(run, name, value)
        elif place < len(combinations) - 2:
            run.state, run.progress, run.reason_code = State.CANCELLED, 0.4, "simulation_runs.cancelled"
            run.reason_sentence = f"{asked_by} cancelled it: greater rates diverge"
        elif place < len(combinations) - 1:
            problem = CannotRun(detail="training diverged on every device of round 3")
            run.state, run.progress = State.FAILED, 0.05
            run.reason_code, run.reason_sentence = problem.code, str(problem)
        else:
            # No worker takes one that others died of: it waits for as long as one looks at it.
            run.attempts, run.started_at, run.finished_at = MAX_ATTEMPTS, None, None
        run.save()


def _run(
    fleet: SimulatedFleet, federation: Federation, rate: float, seed: int, asked_by: str, at: datetime
) -> SimulationRun:
    plan = plan_document(parse_plan({**federation.plan, "local": {**federation.plan["local"], "learning_rate": rate}}))
    wanted = RunRequest(plan, seed, ROUNDS)
    asked = msgspec.to_builtins(wanted)
    return SimulationRun(fleet=fleet, key=key_of(wanted), wanted=asked, asked_by=asked_by, created_at=at, hinted_at=at)


def _outcome(plan: Document, rate: float, seed: int, random: Random) -> FleetOutcome:
    """It learns the quicker the greater the rate is, and ends a little worse where that is too great."""
    best, half_life = 0.93 - 0.25 * max(0.0, rate - 0.1), 0.7 / rate
    accuracies = [
        best - (best - 0.2) * 0.5 ** (number / half_life) + random.gauss(0, 0.006) for number in range(1, ROUNDS + 1)
    ]
    rounds = [
        FleetRound(
            number=place + 1,
            opened_s=place * ROUND_S,
            ended_s=(place + 1) * ROUND_S - random.uniform(5, 60),
            invited=COHORT + random.randrange(8),
            lost=random.randrange(6),
            delivered=COHORT,
            diverged=0,
            outcome="merged",
            accuracy=accuracy,
            loss=2.3 * (1 - accuracy),
        )
        for place, accuracy in enumerate(accuracies)
    ]
    updates = ROUNDS * COHORT
    return FleetOutcome(
        plan=plan,
        pair="gait.pt2",
        data="people.npz",
        split={"kind": "dirichlet", "alpha": 0.3},
        devices=DEVICES,
        samples=240_000,
        held_out=60_000,
        seed=seed,
        executor="batched",
        executor_reason="",
        rounds=rounds,
        ended="rounds",
        simulated_s=rounds[-1].ended_s,
        accuracy=accuracies[-1],
        loss=2.3 * (1 - accuracies[-1]),
        class_accuracy=[min(1.0, max(0.0, accuracies[-1] + random.gauss(0, 0.05))) for _ in range(6)],
        device_accuracy=DeviceAccuracy(accuracies[-1] - 0.01, accuracies[-1] + 0.01, accuracies[-1] - 0.16),
        devices_measured=DEVICES,
        participants=1280,
        client_rounds=updates,
        bytes_by_kind={"version": updates * UPDATE_BYTES, "update": updates * (UPDATE_BYTES // 4 + 200)},
        messages_by_kind={"version": updates, "update": updates},
        trained_s=updates * 14.2,
        bytes_per_device=updates * (UPDATE_BYTES * 1.25 + 200) / 1280,
        joules_per_device=updates * 31.0 / 1280,
    )
