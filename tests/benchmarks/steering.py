"""Pace steering, simulated: an outage under a million devices, and rounds of a small federation among a million.

Time is simulated: every check-in is a draw, as the agent makes it (`coterie_agent.contact`), of the windows of
`coterie_learning.pace.steer`. The controls are the interval and the back-off that agents had before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_learning.pace.steer import FOR_GOALS, MEETING_S, Pacing, Population, meeting_window, spread_window, steer
from tests.benchmarks.report import Figure

DAY_S, WARM_UP_S = 86_400, 21_600
DEVICES, LOAD = 1_000_000, 200.0
CONNECTED = 20_000
"""Of these, hold a socket when the platform goes away."""
OUTAGE_S = (36_000, 37_800)
MOST = 1.5
"""Of the largest second by the mean one."""
SMALL = Population(devices=1200, eligible=0.1, goal=100, selection_s=300)
"""A federation whose rounds take ten minutes."""
ROUNDS, LEAST = 200, 0.9
SLICE_S = 60
FIRST_S = 0.5
"""Of the back-off before."""
Floats = npt.NDArray[np.float64]
Draw = Callable[[Floats], Floats]
"""From the numbers of failures of devices, the seconds that each waits."""


@dataclass(frozen=True)
class Manner:
    """How devices come back."""

    next_s: Draw
    """After an answer."""
    retry_s: Draw
    """Without one."""
    reconnect_s: Draw
    """After their socket was closed."""


def measure() -> list[Figure]:
    """A day with and without steering, and rounds of a small federation."""
    rng = np.random.default_rng(0)
    (pace,), common_s = steer([SMALL], devices=DEVICES, load=LOAD)
    return [
        *_day(f"outage of 30 min, {DEVICES:,} devices, steered", _steered(common_s, rng), rng, target=MOST),
        *_day(f"outage of 30 min, {DEVICES:,} devices, as before", _as_before(common_s, rng), rng),
        *_rounds(pace, common_s, rng),
    ]


def _steered(interval_s: float, rng: np.random.Generator) -> Manner:
    window = spread_window(interval_s)

    def draw(failures: Floats) -> Floats:
        drawn: Floats = window.after_s + window.within_s * rng.random(len(failures))
        return drawn

    return Manner(draw, draw, lambda failures: window.within_s * rng.random(len(failures)))


def _as_before(interval_s: float, rng: np.random.Generator) -> Manner:
    return Manner(
        lambda failures: interval_s * rng.uniform(0.8, 1.0, len(failures)),
        lambda failures: _backed_off(failures, FIRST_S, interval_s, rng),
        lambda failures: np.zeros(len(failures)),
    )


def _backed_off(failures: Floats, first_s: float, longest_s: float, rng: np.random.Generator) -> Floats:
    limits: Floats = np.minimum(longest_s, first_s * 2.0 ** np.minimum(failures - 1, 30))
    return limits * rng.random(len(failures))


def _day(case: str, manner: Manner, rng: np.random.Generator, target: float | None = None) -> Iterator[Figure]:
    tried, answered = _seconds(manner, rng)
    mean, largest = float(answered.mean()), float(answered.max())
    yield Figure(case, "check-ins answered, mean", mean, "/s")
    yield Figure(case, "check-ins answered, largest second", largest, "/s")
    ratio = largest / mean
    if target is None:
        yield Figure(case, "largest second by the mean", ratio, "times")
    else:
        yield Figure(case, "largest second by the mean", ratio, "times", f"target <= {target}", target / ratio)
    yield Figure(case, "tries, the outage included, largest second", float(tried.max()), "/s")


def _seconds(manner: Manner, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Check-ins that were tried and that were answered in each second of a day."""
    tried, answered = np.zeros(DAY_S), np.zeros(DAY_S)
    nothing = np.zeros(DEVICES)
    failures = nothing.copy()
    at_s = -WARM_UP_S + rng.random(DEVICES) * manner.next_s(nothing)
    for end_s in range(-WARM_UP_S + SLICE_S, DAY_S + SLICE_S, SLICE_S):
        if end_s - SLICE_S == OUTAGE_S[0]:
            at_s[:CONNECTED] = OUTAGE_S[0] + manner.reconnect_s(nothing[:CONNECTED])
        coming = np.flatnonzero(at_s < end_s)
        while len(coming):
            now_s = at_s[coming]
            is_away = (now_s >= OUTAGE_S[0]) & (now_s < OUTAGE_S[1])
            _count(tried, now_s)
            _count(answered, now_s[~is_away])
            failures[coming] = np.where(is_away, failures[coming] + 1, 0)
            failed = failures[coming]
            at_s[coming] = now_s + np.where(is_away, manner.retry_s(failed), manner.next_s(failed))
            coming = coming[at_s[coming] < end_s]
    return tried, answered


def _count(seconds: Floats, at_s: Floats) -> None:
    today = at_s[(at_s >= 0) & (at_s < DAY_S)]
    seconds += np.bincount(today.astype(np.int64), minlength=DAY_S)


def _rounds(pace: Pacing, common_s: float, rng: np.random.Generator) -> Iterator[Figure]:
    """How often as many eligible devices as a round wants come within `MEETING_S`, or while it selects."""
    case = f"rounds of {SMALL.goal}, {SMALL.devices:,} members of which {SMALL.eligible:.0%} are eligible"
    yield Figure(case, "a meeting every", pace.interval_s, "s")
    met = sum(_eligible(came, rng) >= SMALL.goal for came in _meetings(pace, rng)) / ROUNDS
    yield Figure(case, "rendezvous that meet", met, "of all", f"target >= {LEAST}", met / LEAST)
    for words, interval_s, within_s in (
        ("20 s that meet at the same interval without rendezvous", pace.interval_s, MEETING_S),
        ("selections of 300 s that meet at the common interval, as before", common_s, SMALL.selection_s),
    ):
        share = min(1.0, within_s / interval_s)
        come = rng.binomial(SMALL.devices, share, ROUNDS)
        yield Figure(case, words, float(np.mean([_eligible(one, rng) >= SMALL.goal for one in come])), "of all")


def _meetings(pace: Pacing, rng: np.random.Generator) -> Iterator[int]:
    """How many members came within `MEETING_S` of one another, time after time, each by what it was told itself."""
    came_s = rng.uniform(0, pace.interval_s, SMALL.devices)
    load, all_s = FOR_GOALS * LOAD, []
    for _ in range(ROUNDS + 3):
        told = [
            meeting_window(pace.interval_s, devices=SMALL.devices, load=load, phase=0, now_s=at_s) for at_s in came_s
        ]
        drawn = rng.random(SMALL.devices)
        came_s = np.array([at_s + w.after_s + w.within_s * u for at_s, w, u in zip(came_s, told, drawn, strict=True)])
        all_s.append(came_s)
    at_s = np.concatenate(all_s)
    for instant_s in np.arange(3, ROUNDS + 3) * pace.interval_s:  # before, some have not been told of a meeting yet
        yield int((np.abs(at_s - instant_s) <= MEETING_S / 2).sum())


def _eligible(came: int, rng: np.random.Generator) -> int:
    return int(rng.binomial(came, SMALL.eligible))
