"""What an exporter is, for those that come with the platform and for those of other packages."""

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
    """Its short name, which people know."""
    number: int
    state: Literal["published", "abandoned"]
    finished_at: datetime
    figures: Mapping[str, float]
    """By name: ``accuracy``, ``updates``, ``duration_s``; of a list each number as ``NAME/INDEX``. All finite."""
    reason: str
    """Code of why it was abandoned; blank: it was not."""
    version: VersionFact | None


class Exporter(Protocol):
    """Keeps rounds elsewhere. An entry point of the group ``coterie.exporters`` is a function that makes one."""

    def export(self, rounds: Sequence[RoundFact]) -> None:
        """Keep `rounds`, which come in the order of their ends.

        MUST have kept all of them when it returns. MUST change nothing where one was kept before: after a kill they
        come again. MUST end within a minute. Raises NotTaken to have the same rounds again later.
        """
