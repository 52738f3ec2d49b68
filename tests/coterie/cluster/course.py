"""Gangs that come and end on a simulated clock, placed by a policy; hosts die and come back."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coterie.cluster.schedule import Decision, Gang, Host, Patience

Policy = Callable[[Sequence[Host], Sequence[Gang], float], Decision]


@dataclass(frozen=True)
class Trace:
    """What comes when."""

    hosts: tuple[Host, ...]
    gangs: tuple[Gang, ...]
    """Each since it came."""
    lengths: Mapping[str, float]
    """Seconds that it computes on hosts of one rack; across racks it takes longer."""
    outages: tuple[tuple[float, float, str], ...] = ()
    """From, until, host."""
    quotas: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Course:
    """What came of it."""

    waited: dict[str, float] = field(default_factory=dict)
    """From when a gang came to its first start."""
    ended: dict[str, float] = field(default_factory=dict)
    span_s: float = 0.0
    stops: int = 0


def random_trace(seed: int) -> Trace:
    """Of hosts, teams, priorities, lengths and outages."""
    draw = random.Random(seed)
    hosts = tuple(
        Host(
            f"h{n}",
            f"r{draw.randrange(3)}",
            draw.choice((1, 2, 4, 8)),
            draw.random() < 0.8,
            gpus=draw.choice((0, 2, 4)),
        )
        for n in range(draw.randint(1, 6))
    )
    total, gangs, lengths, clock = sum(host.places for host in hosts), [], {}, 0.0
    for n in range(draw.randint(1, 14)):
        clock += draw.expovariate(1 / 40)
        ranks = draw.randint(1, max(2, total + 1))
        # The first host stays: what wants no more than its GPUs need not wait for ever.
        fits = ranks <= min(hosts[0].gpus, hosts[0].places)
        gangs.append(
            Gang(
                f"g{n}",
                ranks,
                clock,
                came=clock,
                device=draw.choice(("auto", "cores", "gpus") if fits else ("auto", "cores")),
                team=draw.choice("ab"),
                priority=draw.choice((0, 0, 1)),
                spreads=draw.random() < 0.7,
                small=draw.random() < 0.15,
            )
        )
        lengths[f"g{n}"] = draw.uniform(5, 400)
    outages = []
    for host in hosts[1:]:  # one stays, or all might wait for ever
        if draw.random() < 0.3:
            begin = draw.uniform(0, 600)
            outages.append((begin, begin + draw.uniform(20, 300), host.name))
    quotas = {"a": draw.randint(0, total), "b": draw.randint(0, total)} if draw.random() < 0.5 else {}
    return Trace(hosts, tuple(gangs), lengths, tuple(outages), quotas)


SAVE_S = 3.0
PATIENCE = Patience(host_s=30, rack_s=90, keep_s=200)
ACROSS = 1.25
"""How much longer a gang takes whose workers are in several racks."""


def run(
    trace: Trace,
    policy: Policy,
    *,
    patience: Patience = PATIENCE,
    look: Callable[[Sequence[Host], Sequence[Gang], Decision], None] | None = None,
) -> Course:
    """Until all have ended. Raises AssertionError where none can go on."""
    course = Course()
    racks = {host.name: host.rack for host in trace.hosts}
    left = dict(trace.lengths)
    coming = sorted(trace.gangs, key=lambda gang: gang.since)
    first = {gang.id: gang.since for gang in coming}
    here: dict[str, Gang] = {}
    ends: dict[str, float] = {}
    moments = sorted({moment for begin, end, _ in trace.outages for moment in (begin, end)})
    now = 0.0

    def stop(gang: Gang) -> None:
        here[gang.id] = replace(gang, shares=(), leaving=False, since=now)
        ends.pop(gang.id, None)
        course.stops += 1

    while coming or here:
        while coming and coming[0].since <= now:
            gang = coming.pop(0)
            here[gang.id] = gang
        down = {host for begin, end, host in trace.outages if begin <= now < end}
        hosts = [host for host in trace.hosts if host.name not in down]
        for gang in list(here.values()):
            if any(share.host in down for share in gang.shares):
                stop(gang)  # what it computed since its last checkpoint, here all, is done once more
        for gang in list(here.values()):
            if gang.shares and ends[gang.id] <= now:
                if gang.leaving:
                    stop(gang)
                else:
                    course.ended[gang.id] = now
                    del here[gang.id], ends[gang.id]
        decision = policy(hosts, list(here.values()), now)
        if look is not None:
            look(hosts, list(here.values()), decision)
        for name in decision.leaves:
            gang = here[name]
            done = now - gang.started
            left[name] = max(1.0, left[name] - done)
            here[name] = replace(gang, leaving=True)
            ends[name] = min(ends[name], now + SAVE_S)
        for name, shares in decision.starts.items():
            here[name] = replace(here[name], shares=shares, started=now)
            course.waited.setdefault(name, now - first[name])
            slower = ACROSS if len({racks[share.host] for share in shares}) > 1 else 1.0
            ends[name] = now + left[name] * slower
        following = [*ends.values(), *(gang.since for gang in coming[:1]), *(m for m in moments if m > now)]
        waiting = [gang for gang in here.values() if not gang.shares]
        if waiting:  # patience runs out by itself
            limits = (patience.host_s, patience.rack_s, patience.keep_s)
            following += [g.since + limit for g in waiting for limit in limits if g.since + limit > now]
        assert following or not here, f"nothing can happen any more: {decision.waits}"
        if following:
            now = min(following)
    course.span_s = now
    return course
