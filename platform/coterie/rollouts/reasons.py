"""Why roll-outs wait, and how they ended: stable codes, and sentences made of figures."""

from datetime import datetime

from coterie.core.why import are, because, moment
from coterie_learning.rollout.comparison import Comparison
from coterie_wire.conditions import Reason

AFTER_ROUND = Reason("rollouts.after_round", "begins when the round that is held has ended")
CHAMPION_MOVED = Reason("rollouts.moved", "the champion was moved meanwhile, so what was measured says nothing")
IN_USE = Reason("rollouts.in_use", "the version came into use before it could be tried")
NEEDS_DEVICES = "rollouts.needs_devices"
ABSENT = "rollouts.absent"


def by_operator(why: str) -> Reason:
    """The candidate is promoted before its reports are in."""
    return because("rollouts.by_operator", "an operator promoted it without waiting for the reports", why)


def stopped(why: str) -> Reason:
    """An operator's decision."""
    return because("rollouts.stopped", "an operator stopped it", why)


def went_on(why: str) -> Reason:
    """The next phase begins before this one has ended."""
    return because("rollouts.went_on", "an operator had it go on without waiting for the phase", why)


def needs_devices(*, needed: int, available: int, absent: int, since: datetime) -> Reason:
    """Too few devices could try the candidate now."""
    sentence = f"needs {needed} devices that are there to try it, {available} are"
    return Reason(NEEDS_DEVICES, f"{sentence}; {absent} {are(absent)} absent; it waits since {moment(since)}")


def measuring(*, group: int, reports: int, absent: int = 0, phase: int = 0, phases: int = 1) -> Reason:
    """The canary group compares the candidate with the champion; `phase` counts from 0."""
    sentence = f"{_phase(phase, phases)}{reports} of {group} devices have told how it does"
    return Reason("rollouts.measuring", f"{sentence}, {absent} {are(absent)} absent" if absent else sentence)


def absent(*, group: int, reports: int, absent: int, since: datetime, phase: int, phases: int) -> Reason:
    """So many of the phase's devices are absent that its clock is stopped; `phase` counts from 0."""
    sentence = measuring(group=group, reports=reports, absent=absent, phase=phase, phases=phases)
    return Reason(ABSENT, f"{sentence.sentence}; it waits for them since {moment(since)}")


def holding(*, reports: int, phase: int, phases: int) -> Reason:
    """All devices have reported, and the phase is observed until its time is over."""
    sentence = f"{_phase(phase, phases)}all {reports} devices have told, and it is watched for the time that was set"
    return Reason("rollouts.holding", sentence)


def no_worse(comparison: Comparison) -> Reason:
    """The candidate is promoted."""
    return Reason("rollouts.no_worse", _figures(comparison))


def worse(comparison: Comparison) -> Reason:
    """The candidate is rolled back because of its errors."""
    return Reason("rollouts.worse", _figures(comparison))


def unusable(*, faults: int, reports: int, example: str) -> Reason:
    """The candidate is rolled back because devices could not use it."""
    return Reason("rollouts.unusable", f"{faults} of {reports} devices could not use it: {example}"[:400])


def too_few_reports(*, reports: int, needed: int, absent: int) -> Reason:
    """The candidate is rolled back because too few devices reported on it."""
    sentence = f"needs {needed} reports, {reports} came in time"
    return Reason(
        "rollouts.too_few_reports", f"{sentence}; {absent} devices {are(absent)} absent" if absent else sentence
    )


def _phase(phase: int, phases: int) -> str:
    return "" if phases == 1 else f"phase {phase + 1} of {phases}: "


def _figures(comparison: Comparison) -> str:
    if comparison.is_loss:
        return (
            f"loss {comparison.candidate:.4g} on the devices' samples against the champion's {comparison.champion:.4g}"
        )
    return f"error {comparison.candidate:.2%} on the devices' samples against the champion's {comparison.champion:.2%}"
