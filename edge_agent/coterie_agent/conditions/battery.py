"""Charging, from psutil, where the system has no /sys/class/power_supply (macOS, Windows, BSD)."""

import psutil

from coterie_wire.conditions import Answer


def probe_battery() -> Answer:
    """Whether the device runs on mains; a machine without a battery does."""
    if not hasattr(psutil, "sensors_battery"):
        return "unknown"
    battery = psutil.sensors_battery()
    if battery is None:
        return "yes"
    if battery.power_plugged is None:
        return "unknown"
    return "yes" if battery.power_plugged else "no"
