"""Hints to whoever is connected, sent when the transaction commits; the database stays the truth."""

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

CONSOLE = "console"
"""The channel group of the processes that have consoles open."""


def device_group(device_id: str) -> str:
    """The channel group of one device's sockets."""
    return f"device.{device_id}"


def wake_device(device_id: str) -> None:
    """Tell a device's sockets to check in, once the current transaction commits."""
    _send_on_commit(device_group(device_id), {"type": "device.wake"})


def drop_device(device_id: str) -> None:
    """Close a device's sockets, once the current transaction commits: its credential has ended."""
    _send_on_commit(device_group(device_id), {"type": "device.drop"})


def tell_consoles(app: str) -> None:
    """Let open consoles look again at what a change in `app` can make different, once the transaction commits."""
    _send_on_commit(CONSOLE, {"type": "console.changed", "app": app})


def _send_on_commit(group: str, event: dict[str, str]) -> None:
    """A layer that does not answer is logged and fails nobody: what was committed is true without the hint."""
    transaction.on_commit(lambda: async_to_sync(get_channel_layer().group_send)(group, event), robust=True)
