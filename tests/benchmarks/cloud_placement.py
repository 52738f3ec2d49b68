"""Placement of gangs on a trace made up as Philly's is described, against first come, first served.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): most jobs are small and short, a few are large and long; users come in
bursts. Course and laws are those of the scheduler's tests; times are of a simulated clock.
"""

import random
import statistics
from collections.abc import Callable, Iterator, Sequence

from coterie.cluster.schedule import Decision, Gang, Host, Patience, Room, Share, decide
from tests.benchmarks.report import Figure
from tests.coterie.cluster.course import Course, Trace, run
from tests.coterie.cluster.test_schedule import check_laws

JOBS, RANDOM_COURSES = 400, 10_000
SEEDS = (0, 1, 2)
BUILT = Patience()
NEVER = Patience(host_s=1e12, rack_s=1e12)


def placement() -> Iterator[Figure]:
    """All figures."""
    arms = {"first come, first served": _in_turn, "locality for ever": _patient, "as built": _as_built}
    traces = [_philly(seed) for seed in SEEDS]
    courses = {name: [run(trace, policy, patience=BUILT) for trace in traces] for name, policy in arms.items()}
    plain = courses["first come, first served"]
    for name, of in courses.items():
        case = f"placement, {JOBS} jobs on 8 hosts of 8, {name}"
        use, before = _use(traces, of), _use(traces, plain)
        yield Figure(case, "of all places that compute", use, "share", f"{before:.2f}", use / before)
        for figure, measured in (("waiting, mean", _waiting), ("waiting of 1 worker, mean", _waiting_alone)):
            found, base = _mean(measured, of), _mean(measured, plain)
            yield Figure(case, figure, found, "s", f"{base:.0f}", base / found)
    for seed in range(RANDOM_COURSES):
        check_laws(seed)
    yield Figure("placement, random courses", "no deadlock, no half of a gang", RANDOM_COURSES, "courses")


def _mean(measured: Callable[[Course], float], courses: Sequence[Course]) -> float:
    return statistics.mean(measured(course) for course in courses)


def _use(traces: Sequence[Trace], courses: Sequence[Course]) -> float:
    """From the first job to the end of the last; what a gang loses between racks is no use."""
    useful = [sum(gang.ranks * trace.lengths[gang.id] for gang in trace.gangs) for trace in traces]
    return statistics.mean(work / (64 * course.span_s) for work, course in zip(useful, courses, strict=True))


def _waiting(course: Course) -> float:
    return statistics.mean(course.waited.values())


def _waiting_alone(course: Course) -> float:
    return statistics.mean(waited for name, waited in course.waited.items() if name.endswith("x1"))


def _philly(seed: int) -> Trace:
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{n}", f"r{n // 4}", 8) for n in range(8))
    gangs, lengths, clock = [], {}, 0.0
    for n in range(JOBS):
        clock += draw.expovariate(1 / 30) if n % 10 else draw.expovariate(1 / 120)
        ranks = draw.choices((1, 2, 4, 8, 16, 32), (55, 15, 12, 12, 4, 2))[0]
        name = f"{n}x{ranks}"
        gangs.append(Gang(name, ranks, clock, came=clock))
        lengths[name] = min(7200.0, draw.lognormvariate(5.0, 1.1)) * (1 + ranks / 16)
    return Trace(hosts, tuple(gangs), lengths)


def _as_built(hosts: Sequence[Host], gangs: Sequence[Gang], now: float) -> Decision:
    return decide(hosts, gangs, quotas={}, now=now, patience=BUILT)


def _patient(hosts: Sequence[Host], gangs: Sequence[Gang], now: float) -> Decision:
    return decide(hosts, gangs, quotas={}, now=now, patience=NEVER)


def _in_turn(hosts: Sequence[Host], gangs: Sequence[Gang], now: float) -> Decision:
    """The first that waits is placed as soon as there is room for it anywhere; the others wait for it."""
    starts: dict[str, tuple[Share, ...]] = {}
    free = Room.left(hosts, [gang for gang in gangs if gang.shares]).places
    for gang in sorted((gang for gang in gangs if not gang.shares), key=lambda gang: (gang.since, gang.id)):
        if sum(free.values()) < gang.ranks:
            break
        shares, left = [], gang.ranks
        for name in sorted(free):
            taken = min(left, free[name])
            if taken:
                shares.append(Share(name, taken))
                free[name] -= taken
                left -= taken
        starts[gang.id] = tuple(shares)
    return Decision(starts)
