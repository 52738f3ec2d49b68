"""How an agent is replaced by another release of it: what the platform asks for, and how that went."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.message import Identifier, Message

CUSTOM, RELEASE, NEEDS, NOTES = "custom", "release", "needs", "notes"
"""In the signed entry of an agent's wheel: which release it is, which other wheels may be needed, what is new in it."""
MAX_NOTES = 2000
"""Characters of what is said to be new."""
WITHDRAWN = "updates.withdrawn"
"""Code of a rollback that the platform has asked for."""
ReleaseVersion = Annotated[str, Meta(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$")]
UpdateOutcome = Literal["waiting", "installed", "refused", "rolled_back", "returned"]


class TakesUpdates(Message, frozen=True):
    """Whether a device installs releases of its agent that the platform names."""

    refuses: Reason | None = None
    """Why it installs none; None: it does."""


class AgentUpdate(Message, frozen=True):
    """What the device is to do about its agent, until it has told the outcome."""

    update: Identifier
    version: ReleaseVersion
    """To be found in the repository that the device trusts; nothing here is believed about its content."""
    probation_s: Annotated[float, Meta(ge=1, le=86_400)]
    """Seconds within which the other agent must have checked in."""
    to_do: Literal["install", "return"] = "install"
    """`return`: go back from that version to the one that it has replaced."""


class ReportUpdate(Message, frozen=True):
    """How an update went, or what it waits for."""

    update: Identifier
    outcome: UpdateOutcome
    reason: Reason | None = None
    """None: there is nothing to say."""


def agent_wheel(version: str) -> str:
    """The name of the wheel of an agent's release."""
    return f"coterie_agent-{version}-py3-none-any.whl"


def parts_of(version: str) -> tuple[int, ...]:
    """A release's number, to be compared with another's. Raises ValueError where it is no release's."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
