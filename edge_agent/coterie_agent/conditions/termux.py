"""Charging, network and battery temperature on Android, from the Termux:API commands."""

import shutil
import subprocess
from typing import Literal, TypeVar

import msgspec

from coterie_wire.conditions import Answer, Network, TemperatureC
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

_TIMEOUT_S = 5
T = TypeVar("T", bound=msgspec.Struct)


class Battery(msgspec.Struct, frozen=True):
    """``termux-battery-status``."""

    plugged: str = "UNKNOWN"
    temperature: TemperatureC | None = None

    @property
    def charging(self) -> Answer:
        if self.plugged == "UNPLUGGED":
            return "no"
        return "yes" if self.plugged.startswith("PLUGGED") else "unknown"


class Wifi(msgspec.Struct, frozen=True):
    """``termux-wifi-connectioninfo``."""

    supplicant_state: str = ""


class Telephony(msgspec.Struct, frozen=True):
    """``termux-telephony-deviceinfo``."""

    data_state: str = ""


def is_termux() -> bool:
    """Whether the Termux:API commands are installed."""
    return shutil.which("termux-battery-status") is not None


def probe_battery() -> Battery:
    """The phone's battery; all unknown when the command does not answer."""
    return _ask("termux-battery-status", Battery) or Battery()


def probe_network() -> Network:
    """Wi-Fi when associated, metered when mobile data is up."""
    wifi = _ask("termux-wifi-connectioninfo", Wifi)
    if wifi is not None and wifi.supplicant_state == "COMPLETED":
        return "wifi"
    telephony = _ask("termux-telephony-deviceinfo", Telephony)
    if telephony is not None and telephony.data_state == "connected":
        return "metered"
    return "unknown" if wifi is None or telephony is None else "none"


_Command = Literal["termux-battery-status", "termux-wifi-connectioninfo", "termux-telephony-deviceinfo"]


def _ask(command: _Command, answer: type[T]) -> T | None:
    path = shutil.which(command)
    if path is None:
        return None
    try:
        output = subprocess.run([path], capture_output=True, timeout=_TIMEOUT_S, check=False).stdout
        return from_json(output, answer)
    except (OSError, subprocess.TimeoutExpired, *UNREADABLE):
        return None
