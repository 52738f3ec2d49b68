"""Charging, from Linux's /sys/class/power_supply (Documentation/ABI/testing/sysfs-class-power)."""

from pathlib import Path

from coterie_wire.conditions import Answer

POWER_SUPPLY = Path("/sys/class/power_supply")
_ON_MAINS = {"Charging", "Full", "Not charging"}
"""A battery's states with the charger plugged in; "Not charging" is a battery held at its limit."""


def probe_power_supply(root: Path = POWER_SUPPLY) -> Answer | None:
    """Whether the device runs on mains; a board without a battery does. None: this system does not report it."""
    try:
        supplies = sorted(root.iterdir())
    except OSError:
        return None
    batteries: list[str] = []
    for supply in supplies:
        kind = _read(supply / "type")
        if kind == "Battery" and _read(supply / "scope") != "Device":  # scope Device: a mouse's battery, not ours
            batteries.append(_read(supply / "status"))
        elif kind in ("Mains", "USB", "Wireless") and _read(supply / "online") not in ("", "0"):
            return "yes"
    if not batteries or _ON_MAINS.intersection(batteries):
        return "yes"
    return "no" if "Discharging" in batteries else "unknown"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # some drivers return ENODEV while the hardware is suspended
        return ""
