"""Slot `groups`: does one model serve all? One module a kind."""

from coterie_wire.kinds import Kind


class Groups(Kind, frozen=True):
    """How the devices of a federation are divided among models."""
