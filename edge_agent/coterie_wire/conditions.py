"""What is true on a device now, and what a plan or an owner asks of it."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Answer = Literal["yes", "no", "unknown"]
Network = Literal["wifi", "ethernet", "metered", "none", "unknown"]
Hour = Annotated[int, Meta(ge=0, le=23)]
TemperatureC = Annotated[float, Meta(ge=-100, le=200)]


class Conditions(msgspec.Struct, frozen=True):
    """The answers of a device's probes; a probe that cannot tell says so."""

    charging: Answer = "unknown"
    network: Network = "unknown"
    idle: Answer = "unknown"
    temperature_c: TemperatureC | None = None
    confirmed: Annotated[tuple[Literal["charging", "network"], ...], Meta(max_length=2)] | UnsetType = UNSET
    """Those that no probe tells and the owner has said, e.g. in a browser; left out where there are none."""


class Requirements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must hold before and while a device trains. The device's owner can only make it stricter."""

    charging: Annotated[bool, Meta(description="only on mains or charging")] = True
    unmetered: Annotated[bool, Meta(description="only on Wi-Fi or Ethernet that is not metered")] = True
    idle: Annotated[bool, Meta(description="only while nobody uses the device")] = False
    max_temperature_c: Annotated[
        Annotated[float, Meta(ge=0, le=120)] | None, Meta(description="hottest at which it trains, in °C; null: any")
    ] = None
    hours: Annotated[
        tuple[Hour, Hour] | None,
        Meta(description="local hours [from, to) in which it trains; from > to spans midnight"),
    ] = None
    unknown: Annotated[
        Literal["refuse", "allow"], Meta(description="what an unknown answer means where a condition is asked for")
    ] = "refuse"


def is_within(hours: tuple[int, int], hour: int) -> bool:
    """Whether a local hour is in [from, to); from > to spans midnight, and from an hour to itself is all day."""
    start, end = hours
    if start <= end:
        return start <= hour < end or start == end
    return hour >= start or hour < end


class Reason(msgspec.Struct, frozen=True):
    """Why something waits: a stable code for programs, a sentence for people."""

    code: Annotated[str, Meta(max_length=64)]
    sentence: Annotated[str, Meta(max_length=400)]


NETWORK_CODES = frozenset({"conditions.offline", "conditions.metered", "conditions.network_unknown"})
"""The blockers that also hold back downloads and uploads; the others hold back training alone."""
