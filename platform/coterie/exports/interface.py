"""The interface of exporters, for those that come with the platform and for those of other packages."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec


class VersionFact(msgspec.Struct, frozen=True):
    """A model version as a round made it; it never changes."""

    id: str
    pair: str
    """Short name of its model pair."""
    role: str
    lineage: str
    """The federation or group that it serves; blank: the pair's own."""
    number: int
    sha256: str
    """Of the file of its parameters."""


class RoundFact(msgspec.Struct, frozen=True):
    """How a round ended."""

    federation: str
    """Its ID, which stays."""
    slug: str
    """Its short name for people."""
    number: int
    state: Literal["published", "abandoned"]
    finished_at: datetime
    figures: Mapping[str, float]
    """By name: ``accuracy``, ``updates``, ``duration_s``; of a list each number as ``NAME/INDEX``. All finite."""
    reason: str
    """Code of why it was abandoned; blank: it was not."""
    version: VersionFact | None


class Exporter(Protocol):
    """Stores rounds elsewhere. An entry point of the group ``coterie.exporters`` is a function that creates one."""

    def export(self, rounds: Sequence[RoundFact]) -> None:
        """Store `rounds`, which are in the order of their ends.

        MUST have stored all of them when it returns. MUST change nothing for one that was stored before: after a kill
        they are repeated. MUST end within a minute. Raises NotTaken to get the same rounds again later.
        """
