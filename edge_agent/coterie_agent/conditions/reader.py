"""Puts the answers of the probes that fit this system together."""

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
"""Each Termux command starts an Android service; asking every second would drain the battery it asks about."""


class ReadConditions(Protocol):
    """Reads the conditions of this moment."""

    def __call__(self) -> Conditions: ...


def conditions_reader(override: Path | None) -> ReadConditions:
    """The probes that fit this system, behind the `override` file if there is one."""
    read = _termux_reader() if termux.is_termux() else _system_reader()
    if override is None:
        return read
    file = OverrideFile(override)
    return lambda: file.read() or read()


def _system_reader() -> ReadConditions:
    network, idle = NetworkProbe(), IdleProbe()
    return lambda: Conditions(
        charging=probe_power_supply() or probe_battery(),
        network=network(),
        idle=idle(),
        temperature_c=probe_temperature(),
    )


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

    return _Cached(read, _TERMUX_TTL_S, time.monotonic)


class _Cached:
    def __init__(self, read: ReadConditions, ttl_s: float, clock: Callable[[], float]) -> None:
        self._read, self._ttl_s, self._clock = read, ttl_s, clock
        self._at = float("-inf")
        self._conditions = Conditions()

    def __call__(self) -> Conditions:
        if self._clock() - self._at >= self._ttl_s:
            self._conditions, self._at = self._read(), self._clock()
        return self._conditions
