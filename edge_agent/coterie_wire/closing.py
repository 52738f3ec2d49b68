"""How a platform that is restarted closes a socket: with code 1012, and within how many seconds to connect again."""

from typing import Final

RESTART: Final = 1012
"""RFC 6455's registry of close codes: service restart."""
LONGEST_S: Final = 3600
"""Beyond that nobody is told to stay away."""
_SAID: Final = "reconnect within "
_UNIT: Final = " s"


def reason_of(spread_s: float) -> str:
    """What the close frame says."""
    return f"{_SAID}{min(max(spread_s, 0.0), LONGEST_S):.1f}{_UNIT}"


def spread_of(code: int, reason: str) -> float:
    """Seconds, each as likely to be the one in which to connect again; 0 where the close says nothing of it."""
    said = reason.removeprefix(_SAID).removesuffix(_UNIT)
    if code != RESTART or not reason.startswith(_SAID) or not said.replace(".", "", 1).isdecimal():
        return 0.0
    return min(float(said), float(LONGEST_S))
