"""The owner's word on releases, where agent.toml says that he is asked."""

import msgspec

from coterie_agent.home import Home, write_private
from coterie_wire.conditions import Reason
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json
from coterie_wire.updating import ReleaseVersion


class Later(msgspec.Struct, frozen=True):
    """The owner does not want to be asked about a release for a while."""

    version: ReleaseVersion
    until: float
    """Unix time."""


class OwnersWord(msgspec.Struct, frozen=True):
    """What the owner has said; it holds until he says otherwise."""

    versions: tuple[ReleaseVersion, ...] = ()
    """Agreed to, one by one."""
    always: bool = False
    """All that are signed with the keys that the device trusts."""
    later: Later | None = None

    def agrees_to(self, version: str) -> bool:
        """Whether it may be installed."""
        return self.always or version in self.versions

    def put_off_until(self, version: str, *, now: float) -> float | None:
        """Unix time until which it is not asked for; None: it is."""
        return self.later.until if self.later and self.later.version == version and now < self.later.until else None

    def why_not(self, version: str, *, now: float) -> Reason | None:
        """Why it is not installed; None: it may be."""
        if self.agrees_to(version):
            return None
        if self.put_off_until(version, now=now) is not None:
            return Reason("updates.put_off", f"agent {version} waits: its owner does not want it yet")
        how = f"on the device's page (coterie-agent page), or by coterie-agent updates --allow {version}"
        return Reason("updates.asks_owner", f"agent {version} waits for its owner's word: {how}")


def owners_word(home: Home) -> OwnersWord:
    """What cannot be read agrees to nothing."""
    try:
        return from_json(home.agreed_updates.read_bytes(), OwnersWord)
    except (OSError, *UNREADABLE):
        return OwnersWord()


def agree(home: Home, version: str) -> None:
    """Let that one be installed. Raises OSError."""
    word = owners_word(home)
    _write(home, msgspec.structs.replace(word, versions=tuple(sorted({*word.versions, version})), later=None))


def agree_always(home: Home, always: bool) -> None:
    """Let all be installed that are signed as the device asks, or be asked about each again. Raises OSError."""
    _write(home, msgspec.structs.replace(owners_word(home), always=always, later=None))


def put_off(home: Home, version: str, *, until: float) -> None:
    """Not ask about that one before `until`, in Unix time. Raises OSError."""
    _write(home, msgspec.structs.replace(owners_word(home), later=Later(version, until)))


def _write(home: Home, word: OwnersWord) -> None:
    write_private(home.agreed_updates, msgspec.json.encode(word))
