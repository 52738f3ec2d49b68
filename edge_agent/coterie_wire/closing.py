"""How a platform that is restarted closes a socket: with code 1012, and within how many seconds to connect again."""

from typing import Final

SERVICE_RESTART: Final = 1012
"""RFC 6455's registry of close codes: service restart."""
LONGEST_SPREAD_S: Final = 3600
"""Beyond that nobody is told to stay away."""
_PREFIX: Final = "reconnect within "
_UNIT: Final = " s"


def close_reason(spread_s: float) -> str:
    """What the close frame says."""
    return f"{_PREFIX}{min(max(spread_s, 0.0), LONGEST_SPREAD_S):.1f}{_UNIT}"


def reconnect_spread_s(code: int, reason: str) -> float:
    """Seconds, each as likely to be the one in which to connect again; 0 where the close says nothing of it."""
    said = reason.removeprefix(_PREFIX).removesuffix(_UNIT)
    if code != SERVICE_RESTART or not reason.startswith(_PREFIX) or not said.replace(".", "", 1).isdecimal():
        return 0.0
    return min(float(said), float(LONGEST_SPREAD_S))
