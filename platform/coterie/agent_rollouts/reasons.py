"""Why roll-outs of the agent wait, and how they ended."""

from collections.abc import Mapping
from datetime import datetime

from coterie.core.why import are, because, moment
from coterie_wire.conditions import Reason

LEFT_OUT: Mapping[str, str] = {
    "updates.off": "their owners want no updates",
    "updates.otherwise_installed": "containers and packages of the system, which are updated as such",
    "updates.no_client": "installed without coterie-agent[updates]",
    "updates.no_root": "joined before there was a repository of releases, so they have no keys to verify it with",
    "updates.not_newer": "have this release, or a newer one",
    "updates.unknown": "their agents are older than updates",
}
"""Why devices are not asked, of many at once."""


def stopped(why: str) -> Reason:
    """No other device is asked."""
    return because("agent_rollouts.stopped", "an operator stopped it; devices that have it keep it", why)


def paused(why: str) -> Reason:
    """No further device is asked for now."""
    return because("agent_rollouts.paused", "an operator paused it", why)


def withdrawn(why: str) -> Reason:
    """Devices go back."""
    return because("agent_rollouts.by_operator", "an operator has devices go back to the agent before", why)


def watching(*, share: float, asked: int, installed: int) -> Reason:
    """The phase is being observed."""
    return Reason("agent_rollouts.watching", f"{installed} of {asked} devices that were asked have it ({share:.0%})")


def who_answered(share: float, *, asked: int, answered: int, absent: int) -> str:
    """The state of the devices of a phase none of which has installed it, as part of a reason."""
    sentence = f"none of the {asked} devices of this phase ({share:.0%}) has it"
    return f"{sentence}, {answered} have answered, {absent} {are(absent)} absent"


def unanswered(who: str, *, since: datetime) -> Reason:
    """The phase waits for absent devices."""
    return Reason("agent_rollouts.unanswered", f"{who}; it waits for them since {moment(since)}")


def gave_up(who: str, *, since: datetime) -> Reason:
    """The phase has waited for its devices for the longest time."""
    return Reason("agent_rollouts.gave_up", f"it has paused by itself: {who} since {moment(since)}")


def continued(why: str) -> Reason:
    """An operator continues it."""
    return because("agent_rollouts.went_on", "an operator had it go on without waiting for the phase", why)


def no_device(left_out: int) -> Reason:
    """No device can be asked."""
    return Reason("agent_rollouts.nobody", f"no device can be asked; {left_out} take no updates or have it already")


def completed(*, installed: int) -> Reason:
    """The roll-out is complete."""
    return Reason("agent_rollouts.held", f"{installed} devices have it, and it has held")


def failing(*, failures: int, tried: int, example: str) -> Reason:
    """Too many devices could not use it, went back, or fell silent."""
    return Reason("agent_rollouts.failing", f"{failures} of {tried} devices fail with it: {example}"[:400])


def worse(*, before: float, after: float) -> Reason:
    """Devices do worse in rounds than before."""
    sentence = f"{after:.0%} of the rounds of its devices fail, {before:.0%} of them did before"
    return Reason("agent_rollouts.worse", sentence)
