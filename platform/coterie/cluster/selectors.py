"""The cluster for people: hosts, gangs in the order of their turn, and what teams have used."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from coterie.cluster.models import Gang, GangShare, Host


class GangUse(NamedTuple):
    """What the gangs of a team have had."""

    team: str
    place_hours: float
    gpu_hours: float


class Launcher(NamedTuple):
    """Who starts workers."""

    name: str
    """As hosts call it: here, kubernetes or slurm."""
    hosts: int
    places: int
    """Of those hosts together."""


def hosts() -> "QuerySet[Host]":
    """All hosts, with the shares of gangs that they run."""
    return Host.objects.prefetch_related(Prefetch("shares", GangShare.objects.select_related("gang")))


def active_gangs() -> "QuerySet[Gang]":
    """Those that have places, then those that wait, in the order of their turn."""
    shares = Prefetch("shares", GangShare.objects.select_related("host"))
    return (
        Gang.objects.filter(state__in=Gang.ACTIVE)
        .order_by("state", "-priority", "came", "since", "pk")
        .prefetch_related(shares)
    )


def gang_of(job: UUID) -> Gang | None:
    """The workers of a job, with their places; None: it never requested any."""
    shares = Prefetch("shares", GangShare.objects.select_related("host"))
    return Gang.objects.filter(job=job).prefetch_related(shares).first()


def launchers(now: datetime) -> list[Launcher]:
    """Who starts workers on the hosts that are present, by name."""
    found: dict[str, Launcher] = {}
    for host in Host.objects.all():
        if host.is_present(now):
            former = found.get(host.launcher, Launcher(host.launcher, 0, 0))
            found[host.launcher] = Launcher(host.launcher, former.hosts + 1, former.places + host.places)
    return sorted(found.values())


def seconds_of(gang: Gang, now: datetime) -> tuple[float, float]:
    """(Place, GPU) seconds so far; a place is a core, unless the host says otherwise. One that ended has no shares."""
    place_s, gpu_s = gang.place_s, gang.gpu_s
    if gang.placed_at is not None:
        seconds = max(0.0, (now - gang.placed_at).total_seconds())
        for share in gang.shares.all():
            ranks = min(share.ranks, share.host.places)
            place_s += seconds * ranks
            gpu_s += seconds * len(share.gpus)
    return place_s, gpu_s


def use_of_teams(now: datetime) -> list[GangUse]:
    """The use of all gangs that are kept, most places first."""
    shares = Prefetch("shares", GangShare.objects.select_related("host"))
    found: dict[str, tuple[float, float]] = {}
    for gang in Gang.objects.prefetch_related(shares):
        places, gpus = found.get(gang.team, (0.0, 0.0))
        place_s, gpu_s = seconds_of(gang, now)
        found[gang.team] = (places + place_s, gpus + gpu_s)
    used = [GangUse(team, places / 3600, gpus / 3600) for team, (places, gpus) in found.items()]
    return sorted(used, key=lambda use: (-use.place_hours, use.team))
