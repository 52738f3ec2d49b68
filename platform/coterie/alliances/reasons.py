"""Why alliances wait, and how they ended: stable codes, and sentences made of figures."""

from collections.abc import Sequence

from coterie_wire.alliances import AllianceFigures
from coterie_wire.conditions import Reason

STOPPED = Reason("alliances.stopped", "an operator stopped it")


def needs_consent(names: Sequence[str]) -> Reason:
    """Owners have not agreed yet."""
    sentence = f"the owner of {' and of '.join(names)} has yet to agree: coterie-agent ally"
    return Reason("alliances.needs_consent", sentence)


def aligning() -> Reason:
    """The parties align the people whom both know."""
    return Reason("alliances.aligning", "the parties find out which people both know")


def training(figures: AllianceFigures, *, epochs: int) -> Reason:
    """The parties train."""
    sentence = f"{figures.epoch} of {epochs} epochs, on people whom both know, who are {figures.common}"
    return Reason("alliances.training", sentence)


def partner_away(name: str, *, seconds: float) -> Reason:
    """A party is away; vertical learning needs both."""
    return Reason("alliances.partner_away", f"{name} has said nothing for {seconds:.0f} seconds, and both are needed")


def finished(accuracy: float | None, *, common: int) -> Reason:
    """The alliance has finished."""
    how = "" if accuracy is None else f"accuracy {accuracy:.2%} on people held out; "
    return Reason("alliances.trained", f"{how}{common} people are known to both")


def party_left(name: str) -> Reason:
    """A device was revoked or has left."""
    return Reason("alliances.party_left", f"{name} is no device of this platform any more")


def reported_by(name: str, reason: Reason) -> Reason:
    """The reason that a party reports why it cannot continue."""
    return Reason(reason.code, f"{name}: {reason.sentence}"[:400])
