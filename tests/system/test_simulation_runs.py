"""A sweep over the queue of a scaled platform, one of whose workers is killed: the bytes are those of one process."""

import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from threading import Thread

import psycopg
import pytest

from coterie.core.login import Login
from coterie.simulation.fleet.on_platform import OnPlatform, client_of
from coterie.simulation.fleet.sweep import SweepOutcome, parse_dimension, sweep
from coterie.simulation.progress import SimulationProgress, unreported
from tests.coterie.simulation.fleet.fleets import run
from tests.system.eventually import eventually
from tests.system.processes import kill_with_children, prepare_state
from tests.system.scaled import CELERY, SCALED, Processes

pytestmark = [*SCALED, pytest.mark.long]

RATES = [parse_dimension("local.learning_rate=0.0001,0.03,0.1")]
SEEDS = 2
RUNNING = "SELECT count(*) FROM simulation_runs_simulationrun WHERE state = 'running'"
ATTEMPTS = "SELECT count(*), max(attempts) FROM simulation_runs_simulationrun WHERE state = 'succeeded'"


def test_workers_perform_a_sweep_and_one_is_killed(database: str, broker: str, tmp_path: Path) -> None:
    settings = {
        "mode": "scaled",
        "state": str(tmp_path / "state"),
        "database_url": database,
        "redis_url": broker,
        "secret_key": token_hex(32),
        "signing_key": token_hex(32),
    }
    token = prepare_state(tmp_path / "seed", pairs=1, **settings).token
    fleet = replace(run(), rounds=30)
    found: list[SweepOutcome] = []
    told: list[SimulationProgress] = []
    with ExitStack() as running:
        listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        processes = Processes(settings, tmp_path, running)
        processes.start("coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),))
        processes.start(*CELERY, "beat", "--schedule", str(tmp_path / "schedule"))
        first, _ = (processes.start(*CELERY, "worker", "--pool", "threads", "--concurrency", "4") for _ in range(2))
        login = Login(f"http://127.0.0.1:{listener.getsockname()[1]}", token)
        there = OnPlatform(running.enter_context(client_of(login)))

        def ask() -> None:
            found.append(sweep(fleet, RATES, search="grid", seeds=SEEDS, report=told.append, runner=there))

        asking = Thread(target=ask)
        asking.start()
        with psycopg.connect(database, autocommit=True) as rows:
            eventually(lambda: rows.execute(RUNNING).fetchone() == (2,), within_s=300, every_s=0.05)
            kill_with_children(first)
            asking.join(600)
            assert len(found) == 1, processes.log("celery").read_text()[-4000:]
            plans = len(RATES[0].values) + len({str(found[0].winner_judged.plan), str(found[0].given_judged.plan)})
            assert rows.execute(ATTEMPTS).fetchone() == (plans * SEEDS, 2), "one run was begun by two workers"
        here = sweep(fleet, RATES, search="grid", seeds=SEEDS, report=unreported)
        assert found[0].json() == here.json()
        again = sweep(fleet, RATES, search="grid", seeds=SEEDS, report=told.append, runner=there)
        assert again.json() == here.json() and told[-1].share == 1, "asked once more, what is done is found"
