"""Updates of the agent: the release that the platform asks a device to install, and the device's report."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.message import Identifier, Message

CUSTOM, RELEASE, NEEDS, NOTES = "custom", "release", "needs", "notes"
"""Keys in the signed TUF entry of an agent's wheel: its release, other wheels that it may need, its release notes."""
MAX_NOTES = 2000
"""Most characters of the release notes."""
WITHDRAWN = "updates.withdrawn"
"""Reason code of a rollback that the platform has asked for."""
ReleaseVersion = Annotated[str, Meta(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$")]
UpdateOutcome = Literal["waiting", "installed", "refused", "rolled_back", "returned"]


class TakesUpdates(Message, frozen=True):
    """Whether a device installs releases of its agent that the platform names."""

    refuses: Reason | None = None
    """Why it installs none; None: it installs them."""


class AgentUpdate(Message, frozen=True):
    """Install a release of the agent, or go back from it; repeated until the device has reported the outcome."""

    update: Identifier
    version: ReleaseVersion
    """The release to take from the repository that the device trusts, whose signed metadata describe it."""
    probation_s: Annotated[float, Meta(ge=1, le=86_400)]
    """Seconds within which the new agent must have checked in; otherwise the device goes back."""
    to_do: Literal["install", "return"] = "install"
    """``return``: go back from that release to the one that it replaced."""


class ReportUpdate(Message, frozen=True):
    """The outcome of an update, or what it waits for."""

    update: Identifier
    outcome: UpdateOutcome
    reason: Reason | None = None
    """Why it waits or has failed; None: there is nothing to explain."""


def agent_wheel(version: str) -> str:
    """The file name of the wheel of an agent's release."""
    return f"coterie_agent-{version}-py3-none-any.whl"


def parts_of(version: str) -> tuple[int, ...]:
    """A release's numbers, for comparing releases. Raises ValueError where `version` is no release."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
