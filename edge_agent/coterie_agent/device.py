"""What this device is."""

import os
from platform import machine, system

import psutil

from coterie_agent import VERSION
from coterie_wire.messages import Capabilities


def capabilities() -> Capabilities:
    """Cores, memory and kind of machine, as reported to the platform."""
    return Capabilities(
        cores=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        machine=f"{machine()} {system()}"[:100],
        agent=VERSION,
    )
