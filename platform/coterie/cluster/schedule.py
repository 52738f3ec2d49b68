"""Decides which gangs start, which leave and why the others wait: a function of hosts, gangs and quotas, without a
database.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): a gang has all of its workers or none, near each other at first and
anywhere once it has waited; a team's quota is its own, and idle places are lent. A decision is computed and carried out
as a whole, so that no gang ever holds a part of its workers and two of them cannot block each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal, NamedTuple

from coterie.cluster.launchers import HERE
from coterie_wire.conditions import Reason

Device = Literal["auto", "cores", "gpus"]
"""What workers compute on. auto: a single worker takes a free GPU; several share cores."""
UNLIMITED = 1 << 30
NAMING = frozenset({"cluster.kept_free", "cluster.over_quota", "cluster.preempting", "cluster.preempted"})
"""Reasons whose sentences name other gangs, and so perhaps jobs of other projects."""


class Host(NamedTuple):
    """A machine that is present."""

    name: str
    rack: str
    places: int
    """Workers that it takes at a time."""
    joins: bool = True
    """Whether it takes a part of a gang whose other workers are elsewhere."""
    launcher: str = HERE
    """Who starts workers: itself, or the scheduler of another cluster, which then has the GPUs."""
    gpus: int = 0

    @property
    def has_others_gpus(self) -> bool:
        """Whether another scheduler has its workers' GPUs, and assigns them."""
        return self.launcher != HERE


class Share(NamedTuple):
    """The workers of a gang that one host runs."""

    host: str
    ranks: int
    gpus: tuple[int, ...] = ()
    """The host's numbers of their GPUs, one each; none: they compute on cores."""


@dataclass(frozen=True)
class Gang:
    """Workers that start together; times are seconds of one clock."""

    id: str
    ranks: int
    since: float
    """When its current wait began; its patience counts from then."""
    came: float = 0.0
    """When it first began to wait, which is its place in the queue: a gang that makes room for others keeps it."""
    label: str = ""
    """Its name in reasons; blank: its id."""
    team: str = ""
    priority: int = 0
    spreads: bool = True
    """Whether its workers may be on several hosts."""
    launcher: str = ""
    """Who is to start its workers; blank: any host with room."""
    device: Device = "auto"
    small: bool = False
    """It runs for seconds, so every host runs one beside its places."""
    avoids: frozenset[str] = frozenset()
    """Hosts on which it failed; it takes them only where no others will do."""
    shares: tuple[Share, ...] = ()
    """Its places; empty: it waits."""
    started: float = 0.0
    leaving: bool = False
    """It was told to save a checkpoint and leave, and holds its places until then."""

    @property
    def may_take_gpu(self) -> bool:
        """Whether it takes a GPU where one is free, and a core where none is."""
        return self.device == "auto" and self.ranks == 1 and not self.small

    @property
    def called(self) -> str:
        """Its name in reasons."""
        return self.label or self.id


@dataclass(frozen=True)
class Patience:
    """Seconds after which a gang accepts less locality."""

    host_s: float = 60.0
    """It then accepts hosts of one rack."""
    rack_s: float = 300.0
    """It then accepts any hosts."""
    keep_s: float = 600.0
    """From then on no other gang starts before it, small ones excepted, so that it waits no longer than those that
    run.
    """


@dataclass(frozen=True)
class Decision:
    """Changes that are carried out together."""

    starts: Mapping[str, tuple[Share, ...]] = field(default_factory=dict)
    leaves: Mapping[str, Reason] = field(default_factory=dict)
    """Gangs that are told to save a checkpoint and leave, with the reason."""
    waits: Mapping[str, Reason] = field(default_factory=dict)


class Level(IntEnum):
    """How near each other workers are."""

    HOST = 0
    RACK = 1
    ANY = 2


Free = Mapping[str, int]
"""Free places, by host."""


@dataclass(frozen=True)
class Room:
    """Free places by host, and the numbers of free GPUs."""

    places: dict[str, int]
    gpus: dict[str, frozenset[int]]

    @classmethod
    def left(cls, hosts: Sequence[Host], running: Iterable[Gang]) -> "Room":
        """The room that `running` gangs leave free; small ones take none."""
        room = cls(
            {host.name: host.places for host in hosts},
            {host.name: frozenset(range(0 if host.has_others_gpus else host.gpus)) for host in hosts},
        )
        for gang in running:
            if not gang.small:
                room.take(gang.shares)
        return room

    def take(self, shares: Iterable[Share]) -> None:
        """Mark `shares` as taken; for a host that is gone, nothing changes."""
        for share in shares:
            if share.host in self.places:
                self.places[share.host] = max(0, self.places[share.host] - share.ranks)
                self.gpus[share.host] -= frozenset(share.gpus)

    def for_gang(self, gang: Gang, hosts: Iterable[Host]) -> Free:
        """How many of the workers of `gang` each of `hosts` has room for."""
        if gang.device != "gpus":
            return self.places
        return {
            host.name: self.places[host.name]
            if host.has_others_gpus
            else min(self.places[host.name], len(self.gpus[host.name]))
            for host in hosts
        }

    def with_gpus(self, gang: Gang, shares: tuple[Share, ...]) -> tuple[Share, ...]:
        """`shares` with the GPUs that their workers take, if they take any."""
        if gang.device != "gpus" and not gang.may_take_gpu:
            return shares
        return tuple(share._replace(gpus=tuple(sorted(self.gpus[share.host])[: share.ranks])) for share in shares)


def decide(
    hosts: Sequence[Host],
    gangs: Sequence[Gang],
    *,
    quotas: Mapping[str, int],
    now: float,
    patience: Patience = Patience(),
) -> Decision:
    """Quotas are places by team; without any all teams share all hosts, with some the others borrow idle places."""
    return _Deciding(hosts, gangs, quotas, now, patience).decide()


class _Deciding:
    def __init__(
        self, hosts: Sequence[Host], gangs: Sequence[Gang], quotas: Mapping[str, int], now: float, patience: Patience
    ) -> None:
        self._hosts = sorted(hosts)
        self._running = [gang for gang in gangs if gang.shares]
        self._waiting = sorted((gang for gang in gangs if not gang.shares), key=_place_in_queue)
        self._quotas, self._now, self._patience = quotas, now, patience
        self._holding = list(self._running)
        """Those that run, and those that start now."""
        self._room = Room.left(hosts, self._running)
        self._checking = {share.host for gang in self._running if gang.small for share in gang.shares}
        self._starts: dict[str, tuple[Share, ...]] = {}
        self._leaves: dict[str, Reason] = {}
        self._waits: dict[str, Reason] = {}
        self._first: Gang | None = None
        """Who has the next room; nobody else starts."""
        self._owed: Gang | None = None
        """A gang within its team's quota that waits: nobody borrows meanwhile."""

    def decide(self) -> Decision:
        for gang in self._waiting:
            if gang.small:
                self._check(gang)
        claims = _claims(self._running, self._waiting, self._quotas)
        for entitled in (True, False):
            for gang in self._waiting:
                if not gang.small and (gang.id in claims) == entitled:
                    self._consider(gang, entitled)
        return Decision(self._starts, self._leaves, self._waits)

    def _check(self, gang: Gang) -> None:
        """A small gang needs a host that runs no other small one."""
        idle = [host.name for host in self._hosts if host.name not in self._checking]
        wanted = [name for name in idle if name not in gang.avoids] or idle
        if wanted:
            chosen = max(wanted, key=lambda name: (self._room.places[name], name))
            self._checking.add(chosen)
            self._starts[gang.id] = (Share(chosen, gang.ranks),)
        else:
            self._waits[gang.id] = self._no_host(gang) or Reason(
                "cluster.checking", "waits for a host to check it; each checks one pair or gang at a time"
            )

    def _consider(self, gang: Gang, entitled: bool) -> None:
        if (missing := self._no_host(gang)) is not None:
            self._waits[gang.id] = missing
        elif self._first is not None:
            self._waits[gang.id] = Reason(
                "cluster.kept_free", f"waits behind {self._first.called}, which what becomes free is kept for"
            )
        elif not entitled and self._owed is not None:
            self._waits[gang.id] = Reason(
                "cluster.over_quota",
                f"waits while {self._owed.called} waits within its team's quota; "
                f"team {gang.team or 'default'} has used up its own of {self._quotas.get(gang.team, 0)}",
            )
        elif (shares := self._fit(gang, self._room)) is not None:
            self._starts[gang.id] = shares
            self._holding.append(replace(gang, shares=shares))
            self._room.take(shares)
        else:
            self._let_wait(gang, entitled)

    def _let_wait(self, gang: Gang, entitled: bool) -> None:
        if entitled:
            self._owed = self._owed or gang
        leavers = self._leavers(gang, entitled)
        if leavers:
            self._first = gang
            for one in leavers:
                if not one.leaving:
                    self._leaves[one.id] = Reason(
                        "cluster.preempted", f"it saves a checkpoint and leaves to {gang.called}"
                    )
            names = " and ".join(sorted(one.called for one in leavers))
            self._waits[gang.id] = Reason("cluster.preempting", f"waits until {names} has saved a checkpoint and left")
            return
        if self._now - gang.since >= self._patience.keep_s:
            self._first = gang
        self._waits[gang.id] = self._reason(gang)

    def _leavers(self, gang: Gang, entitled: bool) -> list[Gang]:
        """The gangs whose places it needs to start: those leaving already, and as few as possible of those that
        must yield.
        """
        chosen = [one for one in self._running if one.leaving]
        if self._fits_without(gang, chosen):
            return chosen
        for one in _yielding(gang, self._running, self._quotas) if entitled else ():
            chosen.append(one)
            if self._fits_without(gang, chosen):
                return self._needed(gang, chosen)
        return []

    def _fits_without(self, gang: Gang, leavers: Sequence[Gang]) -> bool:
        """Whether it would take their places now: places that it does not accept yet, others would take meanwhile."""
        left = {one.id for one in leavers}
        room = Room.left(self._hosts, [one for one in self._holding if one.id not in left])
        return self._fit(gang, room) is not None

    def _needed(self, gang: Gang, chosen: list[Gang]) -> list[Gang]:
        """`chosen` without those whose places are not needed."""
        for one in list(chosen):
            others = [other for other in chosen if other is not one]
            if self._fits_without(gang, others):
                chosen = others
        return chosen

    def _fit(self, gang: Gang, room: Room) -> tuple[Share, ...] | None:
        hosts, level = self._hosts_of(gang), self._level(gang)
        free = room.for_gang(gang, hosts)
        rather = [host for host in hosts if host.name not in gang.avoids]
        with_gpu = [host for host in rather if room.gpus[host.name]] if gang.may_take_gpu else rather
        for usable in (with_gpu, rather, hosts):
            if (found := _place(gang, usable, free, level, hosts)) is not None:
                return room.with_gpus(gang, found)
        return None

    def _hosts_of(self, gang: Gang) -> list[Host]:
        """The hosts whose launcher the gang accepts, with the places that it could have."""
        hosts = [host for host in self._hosts if gang.launcher in ("", host.launcher)]
        if gang.device != "gpus":
            return hosts
        capped = [host if host.has_others_gpus else host._replace(places=min(host.places, host.gpus)) for host in hosts]
        return [host for host in capped if host.places]

    def _level(self, gang: Gang) -> Level:
        """The locality that it insists on by now, and that an idle cluster could give."""
        hosts = self._hosts_of(gang)
        joining = [host for host in hosts if host.joins]
        if not gang.spreads or gang.ranks <= 1 or len(joining) < 2:
            return Level.HOST
        waited = self._now - gang.since
        patience = self._patience
        level = Level.HOST if waited < patience.host_s else Level.RACK if waited < patience.rack_s else Level.ANY
        if level == Level.HOST and max(host.places for host in hosts) < gang.ranks:
            level = Level.RACK
        if level == Level.RACK and max(_by_rack(joining, lambda host: host.places).values()) < gang.ranks:
            level = Level.ANY
        return level

    def _no_host(self, gang: Gang) -> Reason | None:
        if not self._hosts:
            return Reason("cluster.no_host", "no host is there; start a Celery worker, which registers its machine")
        if not gang.small and not self._hosts_of(gang):
            return Reason(
                "cluster.no_launcher",
                f"waits for a host with launcher {gang.launcher}; none is there: start a Celery worker with "
                f"COTERIE_CLUSTER_LAUNCHER={gang.launcher}, or bootstrap with another launcher",
            )
        if gang.device == "gpus" and (not self._hosts_of(gang) or _is_crowd(gang, self._hosts_of(gang))):
            gpus = max((host.gpus for host in self._hosts), default=0)
            return Reason(
                "cluster.no_gpus",
                f"waits for {gang.ranks} GPUs; the hosts that are there have {sum(host.gpus for host in self._hosts)}, "
                f"at most {gpus} on one: take fewer workers, or have it compute on cores",
            )
        return None

    def _reason(self, gang: Gang) -> Reason:
        """Why it does not fit: too few places are free, or not near enough."""
        workers = "1 worker" if gang.ranks == 1 else f"{gang.ranks} workers"
        if gang.device == "gpus":
            workers += ", each with a GPU,"
        hosts = self._hosts_of(gang)
        if _is_crowd(gang, hosts):
            return Reason("cluster.busy", f"waits for an idle host: {workers} are more than the hosts have places for")
        free = self._room.for_gang(gang, hosts)
        total, where = sum(free[host.name] for host in hosts), self._where_it_insists(gang, free)
        sentence = f"waits for {workers}{where.asked}; {where.free} free{where.best}"
        if total >= gang.ranks:
            return Reason("cluster.fragmented", sentence)
        return Reason("cluster.busy", sentence)

    def _where_it_insists(self, gang: Gang, free: Free) -> "_Where":
        level, hosts = self._level(gang), self._hosts_of(gang)
        joining = [host for host in hosts if host.joins]
        if level == Level.HOST:
            best = max(hosts, key=lambda host: free[host.name])
            return _Where(" on one host", free[best.name], f" on {best.name}")
        if level == Level.RACK:
            racks = _by_rack(joining, lambda host: free[host.name])
            rack = max(racks, key=lambda name: racks[name])
            return _Where(" in one rack", racks[rack], f" in {rack or 'the only rack'}")
        return _Where("", sum(free[host.name] for host in joining), "")


class _Where(NamedTuple):
    """The locality that a gang wants, and the free places there."""

    asked: str
    free: int
    best: str


def borrowers(running: Iterable[Gang], quotas: Mapping[str, int]) -> set[str]:
    """The running gangs with which their teams use more than their quotas: those that started last."""
    used: dict[str, int] = {}
    found = set()
    for gang in sorted(running, key=lambda gang: (gang.started, gang.id)):
        if not gang.small:
            used[gang.team] = used.get(gang.team, 0) + gang.ranks
            if used[gang.team] > _quota(gang.team, quotas):
                found.add(gang.id)
    return found


def _place_in_queue(gang: Gang) -> tuple[int, float, float, str]:
    return -gang.priority, gang.came, gang.since, gang.id


def _quota(team: str, quotas: Mapping[str, int]) -> int:
    return quotas.get(team, 0) if quotas else UNLIMITED


def _claims(running: Iterable[Gang], waiting: Iterable[Gang], quotas: Mapping[str, int]) -> set[str]:
    """The waiting gangs for which their teams' quotas have room."""
    used: dict[str, int] = {}
    for gang in running:
        if not gang.small:
            used[gang.team] = used.get(gang.team, 0) + gang.ranks
    claims = set()
    for gang in waiting:
        if not gang.small and used.get(gang.team, 0) + gang.ranks <= _quota(gang.team, quotas):
            used[gang.team] = used.get(gang.team, 0) + gang.ranks
            claims.add(gang.id)
    return claims


def _yielding(gang: Gang, running: Sequence[Gang], quotas: Mapping[str, int]) -> list[Gang]:
    """The gangs that must leave for one within its quota, first borrowers, then those of lower priority in its team."""
    borrowing = borrowers(running, quotas)
    found = [
        one
        for one in running
        if not one.small
        and not one.leaving
        and (
            (one.id in borrowing and one.team != gang.team) or (one.team == gang.team and one.priority < gang.priority)
        )
    ]
    return sorted(found, key=lambda one: (one.id not in borrowing, one.priority, -one.started, one.id))


def _is_crowd(gang: Gang, hosts: Sequence[Host]) -> bool:
    """Whether it is larger than what all hosts could ever give it."""
    together = sum(host.places for host in hosts if host.joins) if gang.spreads else 0
    return gang.ranks > max(together, *(host.places for host in hosts))


def _place(
    gang: Gang, hosts: Sequence[Host], free: Free, level: Level, everywhere: Sequence[Host]
) -> tuple[Share, ...] | None:
    if not hosts:
        return None
    if _is_crowd(gang, everywhere):
        # It would wait for ever: the largest host takes it alone, its workers then share cores.
        largest = max(hosts, key=lambda host: (host.places, host.name))
        return (Share(largest.name, gang.ranks),) if free[largest.name] == largest.places else None
    fitting = [host for host in hosts if free[host.name] >= gang.ranks]
    if fitting:
        tightest = min(fitting, key=lambda host: (free[host.name], host.name))
        return (Share(tightest.name, gang.ranks),)
    if level == Level.HOST or not gang.spreads:
        return None
    hosts = [host for host in hosts if host.joins]
    room = _by_rack(hosts, lambda host: free[host.name])
    enough = [rack for rack, places in room.items() if places >= gang.ranks]
    if enough:
        tightest_rack = min(enough, key=lambda rack: (room[rack], rack))
        return _spread(gang, [host for host in hosts if host.rack == tightest_rack], free)
    if level == Level.RACK or sum(room.values()) < gang.ranks:
        return None
    # The fewest racks, and in each the fewest hosts.
    return _spread(gang, sorted(hosts, key=lambda host: (-room[host.rack], host.rack)), free)


def _spread(gang: Gang, hosts: Sequence[Host], free: Free) -> tuple[Share, ...]:
    shares, left = [], gang.ranks
    racks = list(dict.fromkeys(host.rack for host in hosts))
    for host in sorted(hosts, key=lambda host: (racks.index(host.rack), -free[host.name], host.name)):
        taken = min(left, free[host.name])
        if taken:
            shares.append(Share(host.name, taken))
            left -= taken
    assert left == 0, "there is room"
    return tuple(shares)


def _by_rack(hosts: Iterable[Host], of: Callable[[Host], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for host in hosts:
        found[host.rack] = found.get(host.rack, 0) + of(host)
    return found
