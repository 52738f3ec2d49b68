"""Changes to hosts and gangs: which hosts are present, and which gangs wait, are placed or have to leave."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet

from coterie.cluster import schedule
from coterie.cluster.failures import Retry, retry_after
from coterie.cluster.models import LOST_AFTER, Gang, GangShare, Host
from coterie.cluster.selectors import seconds_of
from coterie.core.durable import Steps
from coterie.core.postponing import pause_after, postponed_reason
from coterie.core.resting import unremarkable
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

State = Gang.State
STEPS = Steps(
    Gang,
    ways={
        State.WAITING: frozenset({State.PLACED, State.ENDED}),
        State.PLACED: frozenset({State.LEAVING, State.WAITING, State.ENDED}),
        State.LEAVING: frozenset({State.WAITING, State.ENDED}),
    },
    app="cloud_training",
)
SAVES_WITHIN = timedelta(seconds=120)
"""How long a gang that is to leave may take to its next checkpoint."""
KEPT = timedelta(days=90)
"""How long ended gangs are kept, for the use of teams."""
FORGOTTEN_AFTER = timedelta(days=1)
"""When a lost host is no longer listed; the pods of a deployment come and go."""


class GangPlacement(NamedTuple):
    """The current placement of a gang."""

    placement: int
    """Its number."""
    shares: tuple[schedule.Share, ...]
    """First that of the leading host, then those of the others."""
    leaving: bool

    @property
    def lead(self) -> str:
        """The host that leads the job."""
        return self.shares[0].host


class GangStart(NamedTuple):
    """A gang that has been placed."""

    job: uuid.UUID
    place: GangPlacement


def register_host(
    *,
    name: str,
    rack: str,
    address: str,
    places: int,
    cores: int,
    gpus: int,
    memory_bytes: int,
    now: datetime,
    launcher: str = "here",
) -> None:
    """Register a machine for workers, or renew its registration; it is lost when it is not renewed for a few
    seconds.
    """
    facts = {
        "rack": rack,
        "address": address,
        "launcher": launcher,
        "places": places,
        "cores": cores,
        "gpus": gpus,
        "memory_bytes": memory_bytes,
    }
    present = Host.objects.filter(pk=name, seen_at__gte=now - LOST_AFTER)
    with unremarkable():
        if present.update(seen_at=now, **facts):
            return
    Host.objects.update_or_create(name=name, defaults={"seen_at": now, "since": now, **facts})


def add_gang(
    *,
    job: uuid.UUID,
    label: str,
    ranks: int,
    spreads: bool,
    now: datetime,
    team: str = "",
    priority: int = 0,
    small: bool = False,
    launcher: str = "",
    device: schedule.Device = "auto",
) -> None:
    """Queue the workers of a job for their places; does nothing if they are queued already."""
    Gang.objects.get_or_create(
        job=job,
        defaults={
            "label": label,
            "team": team,
            "priority": priority,
            "ranks": ranks,
            "spreads": spreads,
            "launcher": launcher,
            "device": device,
            "small": small,
            "came": now,
            "since": now,
            "not_before": now,
        },
    )


@transaction.atomic
def place_gangs(*, quotas: Mapping[str, int], now: datetime) -> list[GangStart]:
    """Carry out the scheduler's decision as a whole, and return the gangs that it placed.

    The rows of all hosts are locked, so that no two decisions are carried out at a time.
    """
    hosts = list(Host.objects.select_for_update(no_key=True).order_by("pk"))
    present = {host.name: host for host in hosts if host.is_present(now)}
    _put_back_from_lost(present, now)
    gangs = list(_with_shares(Gang.objects.filter(state__in=Gang.ACTIVE)))
    considered = [gang for gang in gangs if gang.state != State.WAITING or gang.not_before <= now]
    decision = schedule.decide(
        [
            schedule.Host(host.name, host.rack, host.places, bool(host.address), host.launcher, host.gpus)
            for host in present.values()
        ],
        [_as_scheduled(gang) for gang in considered],
        quotas=quotas,
        now=now.timestamp(),
    )
    known = {str(gang.pk): gang for gang in gangs}
    for name, reason in decision.leaves.items():
        STEPS.take(known[name], State.LEAVING, reason=reason, leaves_by=now + SAVES_WITHIN)
    for name, reason in decision.waits.items():
        STEPS.explain(known[name], reason)
    return [_start(known[name], shares, now) for name, shares in decision.starts.items()]


def place_of(job: uuid.UUID) -> GangPlacement | None:
    """The places of a job's workers; None: they wait, or there are none."""
    gang = _with_shares(Gang.objects.filter(job=job, state__in=Gang.HOLDING)).first()
    if gang is None:
        return None
    return GangPlacement(gang.placements, _shares(gang), leaving=gang.state == State.LEAVING)


def holds_place(job: uuid.UUID, placement: int, now: datetime) -> bool:
    """Whether a job's workers may continue where this placement put them."""
    held = Q(state=State.PLACED) | Q(state=State.LEAVING, leaves_by__gt=now)
    return Gang.objects.filter(held, job=job, placements=placement).exists()


def join(*, job: uuid.UUID, placement: int, host: str, now: datetime) -> bool:
    """Begin a host's share of a gang; False if it has begun already, or the gang was placed elsewhere meanwhile."""
    held = {"gang__job": job, "gang__placements": placement, "gang__state": State.PLACED}
    return GangShare.objects.filter(host=host, joined_at=None, **held).update(joined_at=now) == 1


@transaction.atomic
def give_place_back(*, job: uuid.UUID, placement: int, now: datetime) -> bool:
    """Queue a gang again that saved, or whose workers are gone; False if it is placed elsewhere, or has ended."""
    gang = _held(job, placement)
    return gang is not None and _wait_again(gang, gang.reason(), now, since=now, failures=0)


@transaction.atomic
def grow(*, job: uuid.UUID, placement: int, ranks: int, spreads: bool, now: datetime) -> bool:
    """Queue a gang that one process has tried for all of its places; False if that is out of date."""
    gang = _held(job, placement)
    return gang is not None and _wait_again(gang, None, now, small=False, ranks=ranks, spreads=spreads)


@transaction.atomic
def try_again(*, job: uuid.UUID, placement: int, failure: Reason, advanced: bool, now: datetime) -> Retry | None:
    """After a failure of a temporary kind, queue the gang for another attempt; None: the failure is permanent.

    `advanced`: whether this placement wrote a checkpoint.
    """
    gang = _held(job, placement)
    if gang is None:
        return None
    failures = 1 if advanced else gang.failures + 1
    hosts = [share.host for share in _shares(gang)]
    retry = retry_after(failure.code, failures=failures, hosts=len(hosts))
    if retry is None:
        return None
    avoids = sorted({*gang.avoids, *hosts}) if retry.avoid_hosts else gang.avoids
    told = Reason(failure.code, f"is tried again in {retry.wait_s:g} s, after: {failure.sentence}")
    wait = timedelta(seconds=retry.wait_s)
    if not _wait_again(gang, told, now, since=now, failures=failures, avoids=avoids, not_before=now + wait):
        return None
    return retry


@transaction.atomic
def put_off(*, job: uuid.UUID, placement: int, lack: Reason, now: datetime) -> Reason | None:
    """Have a gang wait until the missing resource may be available again; returns the reason, None where it is placed
    elsewhere by now.

    It does not count as a failure. Disks and clocks belong to hosts: other hosts are preferred then.
    """
    gang = _held(job, placement)
    if gang is None:
        return None
    pause = pause_after(gang.postponements)
    told = postponed_reason(lack, pause)
    _wait_again(
        gang,
        told,
        now,
        since=now,
        failures=0,
        avoids=sorted({*gang.avoids, *(share.host for share in _shares(gang))}),
        not_before=now + pause,
        postponements=gang.postponements + 1,
    )
    return told


@transaction.atomic
def end_gang(*, job: uuid.UUID, now: datetime) -> None:
    """Free the places of a job that has ended."""
    gang = _with_shares(Gang.objects.filter(job=job, state__in=Gang.ACTIVE)).first()
    if gang is not None and STEPS.take_from_any(gang, State.ENDED, reason=None, ended_at=now, **_used(gang, now)):
        gang.shares.all().delete()


def tidy(*, active_jobs: Collection[uuid.UUID], now: datetime) -> None:
    """End the gangs whose jobs are gone, and delete old gangs and hosts."""
    for job in Gang.objects.filter(state__in=Gang.ACTIVE).exclude(job__in=active_jobs).values_list("job", flat=True):
        end_gang(job=job, now=now)
    Gang.objects.filter(state=State.ENDED, ended_at__lt=now - KEPT).delete()
    Host.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER, shares=None).delete()


def _put_back_from_lost(present: Mapping[str, Host], now: datetime) -> None:
    """A gang that loses one of its hosts has lost all of its workers: they compute together."""
    for gang in _with_shares(Gang.objects.filter(state__in=Gang.HOLDING)):
        missing = sorted(share.host for share in _shares(gang) if share.host not in present)
        if missing:
            names = " and ".join(missing)
            _wait_again(gang, Reason("cluster.host_lost", f"{names} fell silent; waits for another place"), now)


def _start(gang: Gang, shares: Sequence[schedule.Share], now: datetime) -> GangStart:
    placed = STEPS.take(gang, State.PLACED, reason=None, placed_at=now, placements=gang.placements + 1)
    assert placed, "decisions are carried out one at a time"
    GangShare.objects.bulk_create(
        GangShare(gang=gang, host_id=share.host, ranks=share.ranks, gpus=share.gpus) for share in shares
    )
    return GangStart(gang.job, GangPlacement(gang.placements, tuple(shares), leaving=False))


def _wait_again(gang: Gang, reason: Reason | None, now: datetime, **changes: object) -> bool:
    if not STEPS.take_from_any(
        gang, State.WAITING, reason=reason, placed_at=None, leaves_by=None, **_used(gang, now), **changes
    ):
        return False
    gang.shares.all().delete()
    return True


def _used(gang: Gang, now: datetime) -> dict[str, float]:
    """Seconds including those of the ended placement."""
    place_s, gpu_s = seconds_of(gang, now)
    return {"place_s": place_s, "gpu_s": gpu_s}


def _held(job: uuid.UUID, placement: int) -> Gang | None:
    return _with_shares(Gang.objects.filter(job=job, placements=placement, state__in=Gang.HOLDING)).first()


def _with_shares(gangs: "QuerySet[Gang]") -> "QuerySet[Gang]":
    return gangs.prefetch_related(Prefetch("shares", GangShare.objects.select_related("host")))


def _shares(gang: Gang) -> tuple[schedule.Share, ...]:
    return tuple(schedule.Share(share.host_id, share.ranks, tuple(share.gpus)) for share in gang.shares.all())


def _as_scheduled(gang: Gang) -> schedule.Gang:
    return schedule.Gang(
        id=str(gang.pk),
        ranks=gang.ranks,
        since=gang.since.timestamp(),
        came=gang.came.timestamp(),
        label=gang.label,
        team=gang.team,
        priority=gang.priority,
        spreads=gang.spreads,
        launcher=gang.launcher,
        device=from_values(gang.device, schedule.Device),
        small=gang.small,
        avoids=frozenset(gang.avoids),
        shares=_shares(gang),
        started=0.0 if gang.placed_at is None else gang.placed_at.timestamp(),
        leaving=gang.state == State.LEAVING,
    )
