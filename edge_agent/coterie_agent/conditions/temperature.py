"""Temperature of the hottest zone, from Linux's /sys/class/thermal."""

from pathlib import Path

THERMAL = Path("/sys/class/thermal")


def probe_temperature(root: Path = THERMAL) -> float | None:
    """Degrees Celsius of the hottest thermal zone; None where the system has none."""
    degrees: list[float] = []
    for zone in root.glob("thermal_zone*/temp"):
        try:
            value = int(zone.read_text(encoding="ascii")) / 1000  # the file holds thousandths of a degree
        except (OSError, ValueError):  # a zone that is switched off
            continue
        if -100 <= value <= 200:
            degrees.append(value)
    return max(degrees, default=None)
