"""Combines the probes that fit this system."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from coterie_agent.conditions import termux
from coterie_agent.conditions.battery import probe_battery
from coterie_agent.conditions.load import IdleProbe
from coterie_agent.conditions.network import NetworkProbe
from coterie_agent.conditions.override import OverrideFile
from coterie_agent.conditions.power_supply import probe_power_supply
from coterie_agent.conditions.temperature import probe_temperature
from coterie_wire.conditions import Conditions

_TERMUX_TTL_S = 15.0
"""Each Termux command starts an Android service; only a device that trains, on mains then, asks every second."""


class ReadConditions(Protocol):
    """Reads the conditions; with `fresh` the current ones, else they may be some seconds old."""

    def __call__(self, *, fresh: bool) -> Conditions: ...


def conditions_reader(override: Path | None) -> ReadConditions:
    """The probes that fit this system, behind the `override` file if there is one."""
    read = _termux_reader() if termux.is_termux() else _system_reader()
    if override is None:
        return read
    file = OverrideFile(override)
    return lambda *, fresh: file.read() or read(fresh=fresh)


def _system_reader() -> ReadConditions:
    network, idle = NetworkProbe(), IdleProbe()

    def read(*, fresh: bool) -> Conditions:  # noqa: ARG001 - these probes cost nothing, so that all is fresh
        return Conditions(
            charging=probe_power_supply() or probe_battery(),
            network=network(),
            idle=idle(),
            temperature_c=probe_temperature(),
        )

    return read


def _termux_reader() -> ReadConditions:
    idle = IdleProbe()

    def read() -> Conditions:
        battery = termux.probe_battery()
        return Conditions(
            charging=battery.charging,
            network=termux.probe_network(),
            idle=idle(),
            temperature_c=battery.temperature,
        )

    return Cached(read, ttl_s=_TERMUX_TTL_S, clock=time.monotonic)


class Cached:
    """Caches costly answers for `ttl_s` seconds, unless they must be fresh."""

    def __init__(self, read: Callable[[], Conditions], *, ttl_s: float, clock: Callable[[], float]) -> None:
        self._read, self._ttl_s, self._clock = read, ttl_s, clock
        self._at = float("-inf")
        self._conditions = Conditions()

    def __call__(self, *, fresh: bool) -> Conditions:
        if fresh or self._clock() - self._at >= self._ttl_s:
            self._conditions, self._at = self._read(), self._clock()
        return self._conditions
