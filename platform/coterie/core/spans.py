"""Durations as they are written in sentences."""

UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60))


def span(seconds: float) -> str:
    """`seconds` in the largest unit of which there are at least two."""
    for unit, size_s in UNITS:
        if seconds >= 2 * size_s:
            return f"{int(seconds / size_s)} {unit}"
    return f"{seconds:g} s"
