"""The type of an app's ``device_api.HANDLERS``: functions that each answer one message of a device."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from typing import Any

from coterie.fleet.models import Device
from coterie_wire.message import Message

# Any: each handler takes the message of its own exchange, and the gateway decodes to exactly that type.
Handler = Callable[[Device, Any, datetime], Message]
SlowHandler = Callable[[Device, Any, datetime], "Future[Any]"]
"""A handler whose answer takes longer than a thread of the gateway should wait: it starts the work elsewhere."""
