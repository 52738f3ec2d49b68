"""The owner's decisions on releases of the agent, where agent.toml has the owner asked."""

import msgspec

from coterie_agent.home import Home, write_private
from coterie_wire.conditions import Reason
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json
from coterie_wire.updating import ReleaseVersion


class Later(msgspec.Struct, frozen=True):
    """A release about which the owner does not want to be asked for a while."""

    version: ReleaseVersion
    until: float
    """Unix time."""


class ReleaseConsent(msgspec.Struct, frozen=True):
    """The owner's decisions, valid until changed."""

    versions: tuple[ReleaseVersion, ...] = ()
    """Releases that the owner has agreed to."""
    always: bool = False
    """Whether the owner has agreed to all releases signed with the trusted keys."""
    later: Later | None = None

    def agrees_to(self, version: str) -> bool:
        """Whether the release may be installed."""
        return self.always or version in self.versions

    def postponed_until(self, version: str, *, now: float) -> float | None:
        """Unix time until which the owner is not asked about the release; None: not postponed."""
        return self.later.until if self.later and self.later.version == version and now < self.later.until else None

    def why_not(self, version: str, *, now: float) -> Reason | None:
        """Why the release is not installed; None: it may be."""
        if self.agrees_to(version):
            return None
        if self.postponed_until(version, now=now) is not None:
            return Reason("updates.put_off", f"agent {version} waits: its owner does not want it yet")
        how = f"on the device's page (coterie-agent page), or by coterie-agent updates --allow {version}"
        return Reason("updates.asks_owner", f"agent {version} waits for its owner's word: {how}")


def release_consent(home: Home) -> ReleaseConsent:
    """The stored decisions; none where the file cannot be read."""
    try:
        return from_json(home.agreed_updates.read_bytes(), ReleaseConsent)
    except (OSError, *UNREADABLE):
        return ReleaseConsent()


def agree(home: Home, version: str) -> None:
    """Record that the owner agrees to a release. Raises OSError."""
    consent = release_consent(home)
    _write(home, msgspec.structs.replace(consent, versions=tuple(sorted({*consent.versions, version})), later=None))


def agree_always(home: Home, always: bool) -> None:
    """Record that the owner agrees to all signed releases, or wants to be asked about each. Raises OSError."""
    _write(home, msgspec.structs.replace(release_consent(home), always=always, later=None))


def postpone(home: Home, version: str, *, until: float) -> None:
    """Record that the owner is not to be asked about a release before `until` (Unix time). Raises OSError."""
    _write(home, msgspec.structs.replace(release_consent(home), later=Later(version, until)))


def _write(home: Home, consent: ReleaseConsent) -> None:
    write_private(home.agreed_updates, msgspec.json.encode(consent))
