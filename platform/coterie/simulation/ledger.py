"""Resource use of a simulation's devices: bytes and messages by kind of content, and seconds of training."""

from collections.abc import Mapping
from typing import Literal

import msgspec

What = Literal[
    "raw",
    "answers",
    "gradients",
    "graphs",
    "versions",
    "teachers",
    "updates",
    "metadata",
    "requests",
    "portions",
    "meetings",
]
"""Samples themselves, and what the cloud predicts for them; what servers exchange; graphs and parameters downloaded;
updates uploaded; what help between devices takes, and what those that meet send one another."""


class Used(msgspec.Struct, frozen=True):
    """Resource use of all devices together."""

    bytes_by_kind: Mapping[str, int] = {}
    messages_by_kind: Mapping[str, int] = {}
    trained_s: float = 0.0
    """Seconds of training on devices."""


NOTHING = Used()


class Ledger:
    """Counts what is sent, in encoded bytes, and how long devices compute."""

    def __init__(self, begun: Used = NOTHING) -> None:
        """Counts continue from `begun`."""
        self._bytes, self._messages = dict(begun.bytes_by_kind), dict(begun.messages_by_kind)
        self._trained_s = begun.trained_s

    def count(self, what: What, size_bytes: int, *, messages: int = 1) -> None:
        """Count bytes of a kind, in so many messages."""
        self._bytes[what] = self._bytes.get(what, 0) + size_bytes
        self._messages[what] = self._messages.get(what, 0) + messages

    def train(self, seconds: float) -> None:
        """Count seconds of training on a device."""
        self._trained_s += seconds

    def used(self) -> Used:
        """The counts so far; kinds in the order of their names."""
        return Used(dict(sorted(self._bytes.items())), dict(sorted(self._messages.items())), self._trained_s)
