"""Hints to connected devices and consoles, sent when the transaction commits; only the database is authoritative."""

from collections.abc import Iterable

from django.db import transaction

from coterie.core.hints import Hint, send_hint

CONSOLE = "console"
"""The channel group of the processes that have consoles open."""
DEVICES = "devices"
"""The channel group of the processes that have sockets of devices open."""
WAKE = "devices.wake"
DROP = "devices.drop"
OPENED = "devices.opened"


def wake_device(device_id: str) -> None:
    """Send a device's sockets the hint to check in, once the current transaction commits."""
    wake_devices([device_id])


def wake_devices(device_ids: Iterable[str]) -> None:
    """Send many devices' sockets the hint to check in, once the current transaction commits."""
    devices = tuple(device_ids)
    if devices:
        _send_on_commit(Hint(DEVICES, WAKE, devices=devices))


def drop_device(device_id: str) -> None:
    """Close a device's sockets, once the current transaction commits: its credential has ended."""
    _send_on_commit(Hint(DEVICES, DROP, devices=(device_id,)))


def announce_socket(device_id: str, socket: str) -> None:
    """Notify the device's other sockets, at once, that `socket` has been opened."""
    send_hint(Hint(DEVICES, OPENED, devices=(f"{device_id} {socket}",)))


def notify_consoles(app: str) -> None:
    """Have open consoles reload the data that a change in `app` affects, once the transaction commits."""
    _send_on_commit(Hint(CONSOLE, "console.changed", app=app))


def _send_on_commit(hint: Hint) -> None:
    transaction.on_commit(lambda: send_hint(hint), robust=True)
