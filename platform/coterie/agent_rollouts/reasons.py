"""Why roll-outs of the agent wait, and how they ended."""

from coterie_wire.conditions import Reason

STOPPED = Reason("agent_rollouts.stopped", "an operator stopped it; devices that have it keep it")
PAUSED = Reason("agent_rollouts.paused", "an operator paused it")
BY_OPERATOR = Reason("agent_rollouts.by_operator", "an operator has devices go back to the agent before")


def watching(*, share: float, asked: int, installed: int) -> Reason:
    """The phase goes on."""
    return Reason("agent_rollouts.watching", f"{installed} of {asked} devices that were asked have it ({share:.0%})")


def nobody(left_out: int) -> Reason:
    """No device can be asked."""
    return Reason("agent_rollouts.nobody", f"no device can be asked; {left_out} take no updates or have it already")


def held(*, installed: int) -> Reason:
    """It is done."""
    return Reason("agent_rollouts.held", f"{installed} devices have it, and it has held")


def failing(*, failures: int, tried: int, example: str) -> Reason:
    """Too many devices could not use it, went back, or fell silent."""
    return Reason("agent_rollouts.failing", f"{failures} of {tried} devices fail with it: {example}"[:400])


def worse(*, before: float, after: float) -> Reason:
    """Devices take part worse than they did."""
    sentence = f"{after:.0%} of the rounds of its devices fail, {before:.0%} of them did before"
    return Reason("agent_rollouts.worse", sentence)
