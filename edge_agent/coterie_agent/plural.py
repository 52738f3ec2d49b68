"""Numbers of things, for sentences."""


def plural(count: int, thing: str) -> str:
    """``1 sample``, or ``2 samples``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
