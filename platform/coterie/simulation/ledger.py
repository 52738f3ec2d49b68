"""Bytes sent and received, by kind of content."""

from collections.abc import Mapping
from typing import Literal

What = Literal["raw", "graphs", "versions", "teachers", "updates", "metadata", "requests", "portions", "meetings"]
"""Samples themselves; graphs and parameters downloaded; updates uploaded; what help between devices takes, and
what those that meet send one another."""


class Ledger:
    """Counts what is sent, encoded as it travels."""

    def __init__(self, begun: Mapping[str, int] = {}) -> None:
        """Counts go on from those `begun`."""
        self._bytes: dict[str, int] = dict(begun)

    def count(self, what: What, size_bytes: int) -> None:
        """Count bytes of a kind."""
        self._bytes[what] = self._bytes.get(what, 0) + size_bytes

    def bytes_by_kind(self) -> Mapping[str, int]:
        """In the order of the names."""
        return dict(sorted(self._bytes.items()))
