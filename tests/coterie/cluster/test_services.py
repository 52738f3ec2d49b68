"""Hosts and gangs as rows: placed as a whole, put back when a host falls silent, retried by the kind of failure."""

import uuid
from datetime import timedelta

import pytest

from coterie.cluster.failures import FIRST_WAIT_S, MOST, retry_after
from coterie.cluster.models import LOST_AFTER, Gang, GangShare, Host
from coterie.cluster.schedule import Device, Share
from coterie.cluster.selectors import use_of_teams
from coterie.cluster.services import (
    KEPT,
    SAVES_WITHIN,
    add_gang,
    end_gang,
    give_place_back,
    holds_place,
    join,
    place_gangs,
    place_of,
    register_host,
    tidy,
    try_again,
)
from coterie_wire.conditions import Reason
from tests.coterie.world import later

pytestmark = pytest.mark.django_db
DIED = Reason("training.workers_died", "Worker 1 died")


def hosts(*names: str, at: float = 0.0, places: int = 2, gpus: int = 0) -> None:
    for name in names:
        register_host(
            name=name, rack="", address=name, places=places, cores=places, gpus=gpus, memory_bytes=1, now=later(at)
        )


def gang(ranks: int = 4, *, at: float = 0.0, team: str = "", priority: int = 0, device: Device = "auto") -> uuid.UUID:
    job = uuid.uuid4()
    add_gang(
        job=job,
        label=f"job {ranks}",
        ranks=ranks,
        spreads=True,
        team=team,
        priority=priority,
        device=device,
        now=later(at),
    )
    return job


def reason_of(job: uuid.UUID) -> str:
    return Gang.objects.get(job=job).reason_sentence


def test_a_gang_is_placed_whole_and_leads_from_one_host() -> None:
    hosts("a", "b")
    job = gang()
    (start,) = place_gangs(quotas={}, now=later(1))
    assert (start.job, start.place.lead) == (job, "a")
    assert start.place.shares == (Share("a", 2), Share("b", 2))
    assert place_of(job) == start.place
    assert place_gangs(quotas={}, now=later(2)) == []
    assert join(job=job, placement=1, host="b", now=later(2))
    assert not join(job=job, placement=1, host="b", now=later(3)), "a task that comes twice"
    second = gang(at=3)
    place_gangs(quotas={}, now=later(3))
    assert reason_of(second) == "waits for 4 workers in one rack; 0 free in the only rack"
    end_gang(job=job, now=later(10))
    assert [start.job for start in place_gangs(quotas={}, now=later(10) - timedelta(seconds=4))] == [second]


def test_a_host_that_falls_silent_is_lost_and_its_gangs_wait_for_another_place() -> None:
    hosts("a", "b")
    job = gang()
    place_gangs(quotas={}, now=later(1))
    silent = LOST_AFTER.total_seconds() + 1
    hosts("a", at=silent)
    hosts("c", at=silent)
    (start,) = place_gangs(quotas={}, now=later(silent))
    assert [share.host for share in start.place.shares] == ["a", "c"]
    assert not holds_place(job, 1, later(silent)), "who is left of the former placement ends"
    assert holds_place(job, 2, later(silent))
    assert not give_place_back(job=job, placement=1, now=later(silent)), "it is out of date"


def test_a_gang_that_has_to_leave_has_time_to_save() -> None:
    hosts("a")
    job = gang(2, team="vision")
    place_gangs(quotas={"speech": 2}, now=later(1))
    gang(2, at=2, team="speech")
    assert place_gangs(quotas={"speech": 2}, now=later(2)) == []
    place = place_of(job)
    assert place is not None and place.leaving
    assert holds_place(job, 1, later(2))
    assert not holds_place(job, 1, later(2) + SAVES_WITHIN)
    assert give_place_back(job=job, placement=1, now=later(4))
    (start,) = place_gangs(quotas={"speech": 2}, now=later(4))
    assert start.job != job
    assert reason_of(job).startswith("waits for 2 workers on one host; 0 free on a")


def test_a_gang_that_made_room_is_before_those_that_came_after_it() -> None:
    hosts("a")
    older = gang(2, team="vision")
    place_gangs(quotas={"speech": 2}, now=later(1))
    younger, wanted = gang(2, at=2, team="vision"), gang(2, at=3, team="speech")
    place_gangs(quotas={"speech": 2}, now=later(3))
    assert give_place_back(job=older, placement=1, now=later(4))
    (start,) = place_gangs(quotas={"speech": 2}, now=later(4))
    assert start.job == wanted
    end_gang(job=wanted, now=later(5))
    (start,) = place_gangs(quotas={"speech": 2}, now=later(5))
    assert start.job == older != younger


def test_failures_that_go_away_are_tried_again_and_others_are_not() -> None:
    hosts("a", "b")
    job = gang()
    place_gangs(quotas={}, now=later(0))
    bad = Reason("training.diverged", "the loss was no longer finite")
    assert try_again(job=job, placement=1, failure=bad, advanced=False, now=later(1)) is None
    retry = try_again(job=job, placement=1, failure=DIED, advanced=False, now=later(1))
    assert retry is not None and retry.wait_s == FIRST_WAIT_S
    assert place_gangs(quotas={}, now=later(2)) == [], "it waits for a while"
    hosts("a", "b", at=1 + FIRST_WAIT_S)
    assert len(place_gangs(quotas={}, now=later(1 + FIRST_WAIT_S))) == 1


def test_kinds_of_failure() -> None:
    assert retry_after("compile.malformed_upload", failures=1, hosts=2) is None
    assert retry_after("child.out_of_memory", failures=1, hosts=2) is None
    assert retry_after("training.workers_died", failures=1, hosts=1) is None, "they were started again on the spot"
    waits = [retry_after("training.workers_died", failures=n, hosts=2) for n in range(1, MOST + 1)]
    assert [None if retry is None else retry.wait_s for retry in waits] == [FIRST_WAIT_S, 2 * FIRST_WAIT_S, None]
    elsewhere = retry_after("training.launch_failed", failures=1, hosts=1)
    assert elsewhere is not None and not elsewhere.avoid_hosts, "its host only asked another scheduler"
    lost = retry_after("training.checkpoint_lost", failures=1, hosts=1)
    assert lost is not None and lost.avoid_hosts


def test_use_is_counted_by_team_over_placements() -> None:
    hosts("a", places=4, gpus=2)
    job = gang(2, team="vision", device="gpus")
    place_gangs(quotas={}, now=later(0))
    place = place_of(job)
    assert place is not None and place.shares == (Share("a", 2, (0, 1)),)
    assert use_of_teams(later(1800)) == [("vision", 1.0, 1.0)]
    give_place_back(job=job, placement=1, now=later(1800))
    hosts("a", at=7200, places=4, gpus=2)
    place_gangs(quotas={}, now=later(7200))
    end_gang(job=job, now=later(9000))
    assert use_of_teams(later(20_000)) == [("vision", 2.0, 2.0)]


def test_gangs_without_a_job_end_and_what_is_old_is_forgotten() -> None:
    hosts("a")
    job = gang(2)
    place_gangs(quotas={}, now=later(0))
    tidy(active_jobs=[job], now=later(1))
    assert place_of(job) is not None
    tidy(active_jobs=[], now=later(2))
    assert place_of(job) is None and not GangShare.objects.exists()
    tidy(active_jobs=[], now=later(3) + KEPT)
    assert not Gang.objects.exists() and not Host.objects.exists()
