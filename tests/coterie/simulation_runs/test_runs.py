"""Runs that a platform performs: asked for once, taken by one worker, tried again, given up, forgotten."""

import errno
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from threading import get_ident

import msgspec
import numpy as np
import pytest

from coterie.cloud.figures import SimulationFigures
from coterie.cloud.fleet_run_job import FleetRunResult, RunRequest
from coterie.core.lease import LEASE
from coterie.simulation.fleet.checkpoint import IDENTITY
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.shared import encode_fleet, run_shared, wanted_of
from coterie.simulation_runs import running
from coterie.simulation_runs.errors import FleetUntold, RunHasEnded
from coterie.simulation_runs.keeping import checkpoint_directory
from coterie.simulation_runs.leasing import MAX_ATTEMPTS, hold_run, let_go, record_progress, succeed, take_run
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from coterie.simulation_runs.services import (
    HINTED_AGAIN,
    KEPT,
    ask_for_runs,
    cancel_run,
    keep_fleet,
    remove_fleet,
    sweep,
)
from coterie_wire.errors import WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import encode_tensors
from tests.coterie.simulation.fleet.fleets import run
from tests.coterie.world import START, later
from tests.object_storage.away import storage_away

# Committed for real: the heartbeat extends leases from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("compile")]


def a_fleet(directory: Path, content: bytes | None = None) -> SimulatedFleet:
    path = directory / "fleet"
    path.write_bytes(encode_fleet(run()) if content is None else content)
    return keep_fleet(path=path, now=START)


def wanted(seed: int = 0) -> RunRequest:
    return msgspec.structs.replace(wanted_of(run()), seed=seed)


EMPTY = FleetRunResult("{}", SimulationFigures(0.5, (0.25, 0.5), 0.6, 0.2, 1000.0, 3.0))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Messages to workers."""
    sent: list[str] = []
    monkeypatch.setattr("coterie.core.jobs.current_app.send_task", lambda name, **_: sent.append(name))
    return sent


def test_runs_are_performed_in_children_and_find_what_this_process_finds(tmp_path: Path) -> None:
    fleet = a_fleet(tmp_path)
    runs = ask_for_runs(fleet=fleet, wanted=[wanted(1), wanted(0)], now=START)
    assert running.perform(clock=lambda: later(1)) == 2
    for made, asked in zip(runs, (wanted(1), wanted(0)), strict=True):
        made.refresh_from_db()
        assert (made.state, made.progress, made.attempts) == ("succeeded", 1.0, 1)
        assert made.outcome.encode() == run_shared(encode_fleet(run()), msgspec.json.encode(asked))
        found = from_json(made.outcome.encode(), FleetOutcome)
        assert (made.accuracy, made.accuracies[-1]) == (found.accuracy, found.rounds[-1].accuracy)
        assert (made.bytes_per_device, made.joules_per_device) == (found.bytes_per_device, found.joules_per_device)
        over_devices = (made.device_accuracy_median, made.device_accuracy_worst_decile)
        assert over_devices == (found.device_accuracy.median, found.device_accuracy.worst_decile)
        assert (made.started_at, made.left_s) == (later(1), None)
    again = ask_for_runs(fleet=a_fleet(tmp_path), wanted=[wanted(0), wanted(2), wanted(0)], now=later(2))
    assert [one.pk == runs[1].pk for one in again] == [True, False, True], "what is done is found"
    assert [one.state for one in again] == ["succeeded", "queued", "succeeded"]


def test_a_fleet_that_cannot_be_read_fails_its_runs_which_may_be_tried_again(tmp_path: Path) -> None:
    content = encode_fleet(run()).replace(b"dirichlet", b"dirichlex")
    fleet = a_fleet(tmp_path, content)
    (made,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=START)
    assert running.perform(clock=lambda: later(1)) == 1
    made.refresh_from_db()
    assert (made.state, made.reason_code) == ("failed", "simulation.cannot_run")
    (again,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=later(2))
    assert (again.pk, again.state, again.reason_code, again.attempts) == (made.pk, "queued", "", 0)


def test_a_run_that_is_cancelled_ends_its_child_and_may_be_asked_for_again(tmp_path: Path) -> None:
    endless = msgspec.structs.replace(wanted(), rounds=1_000_000)
    fleet = a_fleet(tmp_path, encode_fleet(replace(run(), days=100_000.0)))
    (made,) = ask_for_runs(fleet=fleet, wanted=[endless], now=START)
    seconds, here = count(1), get_ident()

    def clock() -> datetime:
        """A second later whenever somebody looks, so that all progress is recorded; cancels what has begun."""
        if get_ident() == here and SimulationRun.objects.filter(pk=made.pk, state="running", progress__gt=0).exists():
            cancel_run(run=made, why="it takes too long", now=later(1))
        return later(next(seconds))

    assert running.perform(clock=clock) == 1
    made.refresh_from_db()
    assert (made.state, made.outcome, made.finished_at, made.left_s) == ("cancelled", "", later(1), None)
    assert made.reason_code == "simulation_runs.cancelled" and made.reason_sentence.endswith(": it takes too long")
    assert 0 < made.progress < 1, "how far it was stays"
    assert made.lease_until is None, "its child has ended, so that another worker may take it"
    with pytest.raises(RunHasEnded):
        cancel_run(run=made, now=later(2))
    sweep(now=later(2))
    assert (checkpoint_directory(made.pk) / IDENTITY).exists(), "what it goes on from"
    (again,) = ask_for_runs(fleet=fleet, wanted=[endless], now=later(3))
    assert (again.pk, again.state, again.reason_code, again.attempts) == (made.pk, "queued", "", 0)
    cancel_run(run=again, now=later(4))
    assert take_run(uuid.uuid4(), later(5)) is None, "nor is one taken that was cancelled before it began"


def test_what_is_no_file_of_tensors_or_no_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WireError, match="a header of"):
        a_fleet(tmp_path, b"no tensors")
    with pytest.raises(FleetUntold):
        a_fleet(tmp_path, encode_tensors({"x": np.zeros(3, np.float32)}))
    fleet = a_fleet(tmp_path)
    with pytest.raises(WireError, match="has no kind"):
        ask_for_runs(fleet=fleet, wanted=[RunRequest({"local": {"kind": "sg"}}, 0, 1)], now=START)
    assert not SimulationRun.objects.exists()


def test_one_worker_holds_a_run_and_another_takes_it_over(tmp_path: Path) -> None:
    first, second = uuid.uuid4(), uuid.uuid4()
    (made,) = ask_for_runs(fleet=a_fleet(tmp_path), wanted=[wanted()], now=START)
    assert take_run(first, START) == made
    assert take_run(second, START) is None
    record_progress(made.pk, first, 0.5, 12.0)
    died = START + LEASE + timedelta(seconds=1)
    assert take_run(second, died) == made
    assert not hold_run(made.pk, first, died) and hold_run(made.pk, second, died)
    assert not succeed(made, first, EMPTY, died), "the one that was given up has nothing to say any more"
    assert succeed(made, second, EMPTY, died)
    made.refresh_from_db()
    assert (made.outcome, made.attempts, made.accuracy, made.left_s) == ("{}", 2, 0.5, None)


def test_a_run_that_is_asked_for_again_waits_until_the_child_that_was_cancelled_has_ended(
    tmp_path: Path, told: list[str]
) -> None:
    first, second, fleet = uuid.uuid4(), uuid.uuid4(), a_fleet(tmp_path)
    (made,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=START)
    assert take_run(first, START) == made
    cancel_run(run=made, now=later(1))
    (again,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=later(1))
    assert (again.pk, again.state) == (made.pk, "queued")
    assert take_run(second, later(2)) is None, "its first child may live still"
    assert not hold_run(made.pk, first, later(2)), "whose worker ends it, and says so"
    let_go(made.pk, first)
    assert take_run(second, later(2)) == made
    let_go(made.pk, first)
    assert hold_run(made.pk, second, later(3)), "whoever has lost it does not let go for another"
    cancel_run(run=made, now=later(4))
    ask_for_runs(fleet=fleet, wanted=[wanted()], now=later(4))
    died, before = later(4) + LEASE, len(told)
    sweep(now=died)
    assert len(told) == before + 1, "the worker that had it died"
    assert take_run(uuid.uuid4(), died) == made


def test_workers_that_die_again_and_again_end_it(tmp_path: Path) -> None:
    (made,) = ask_for_runs(fleet=a_fleet(tmp_path), wanted=[wanted()], now=START)
    now = START
    for _ in range(MAX_ATTEMPTS):
        assert take_run(uuid.uuid4(), now) is not None
        now += LEASE + timedelta(seconds=1)
    assert take_run(uuid.uuid4(), now) is None
    sweep(now=now)
    made.refresh_from_db()
    assert (made.state, made.reason_code) == ("failed", "simulation_runs.gave_up")


def test_a_lost_message_is_sent_again(tmp_path: Path, told: list[str]) -> None:
    ask_for_runs(fleet=a_fleet(tmp_path), wanted=[wanted(seed) for seed in range(3)], now=START)
    assert len(told) == 3
    assert sweep(now=START) == 0.0
    assert len(told) == 3, "they were told a moment ago"
    sweep(now=START + HINTED_AGAIN + timedelta(seconds=1))
    assert len(told) == 6
    taken_at = START + HINTED_AGAIN + timedelta(seconds=2)
    take_run(uuid.uuid4(), taken_at)
    sweep(now=taken_at)
    assert len(told) == 6
    sweep(now=taken_at + LEASE + timedelta(seconds=1))
    assert len(told) == 7, "its worker died"


def test_what_nobody_uses_is_forgotten(tmp_path: Path) -> None:
    fleet = a_fleet(tmp_path)
    (made,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=START)
    assert (fleet.pair_name, fleet.data_name, fleet.devices) == (*run().names, run().devices)
    kept = checkpoint_directory(made.pk)
    sweep(now=START + KEPT + timedelta(days=1))
    assert SimulationRun.objects.exists() and kept.is_dir(), "it waits still"
    lease = uuid.uuid4()
    assert take_run(lease, START) is not None
    succeed(made, lease, EMPTY, START)
    sweep(now=START)
    assert SimulationRun.objects.exists() and not kept.exists()
    sweep(now=START + KEPT + timedelta(days=1))
    assert not SimulatedFleet.objects.exists() and not SimulationRun.objects.exists()


def test_a_fleet_that_is_removed_takes_its_runs_along(tmp_path: Path) -> None:
    fleet = a_fleet(tmp_path)
    (made,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=START)
    lease = uuid.uuid4()
    take_run(lease, START)
    remove_fleet(fleet=fleet)
    assert not hold_run(made.pk, lease, START), "its worker ends the child"


def test_a_run_waits_for_a_storage_that_does_not_answer_and_then_goes_on_by_itself(
    tmp_path: Path, told: list[str]
) -> None:
    (made,) = ask_for_runs(fleet=a_fleet(tmp_path), wanted=[wanted()], now=START)
    at, pauses = 1.0, []

    def perform_at(moment: float) -> int:
        return running.perform(clock=lambda: later(moment))

    with storage_away():
        for _ in range(8):  # more than workers may die
            assert perform_at(at) == 1
            made.refresh_from_db()
            assert (made.state, made.reason_code, made.attempts) == ("queued", "storage.unavailable", 0)
            pauses.append((made.postponed_until - later(at)).total_seconds())
            assert made.reason_sentence.startswith(f"it goes on {pauses[-1]:.0f} s from now: The file storage")
            told.clear()
            sweep(now=later(at + pauses[-1] - 0.1))
            assert perform_at(at + pauses[-1] - 0.1) == 0 and told == []
            at += pauses[-1]
            sweep(now=later(at))
            sweep(now=later(at + 0.1))
            assert len(told) == 1, "workers are told once that the pause is over"
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300]
    assert perform_at(at) == 1
    made.refresh_from_db()
    assert (made.state, made.reason_code, made.attempts) == ("succeeded", "", 1)


def test_a_run_waits_while_the_disk_is_full_and_may_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = a_fleet(tmp_path)
    (made,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=START)

    def no_room(_name: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(running, "scratch_directory", no_room)
        running.perform(clock=lambda: later(1))
    made.refresh_from_db()
    assert (made.state, made.reason_code) == ("queued", "child.disk_full")
    cancel_run(run=made, now=later(2))
    assert take_run(uuid.uuid4(), later(600)) is None
    (again,) = ask_for_runs(fleet=fleet, wanted=[wanted()], now=later(3))
    assert (again.postponed_until, again.postponements) == (None, 0), "whoever asks again does not wait"
    assert take_run(uuid.uuid4(), later(3)) == made
