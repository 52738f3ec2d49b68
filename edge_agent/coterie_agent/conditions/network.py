"""Network, from Linux's routing table and /sys/class/net; NetworkManager, where it runs, reports what is metered."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coterie_wire.conditions import Network

CLASS_NET = Path("/sys/class/net")
PROC_NET = Path("/proc/net")
_ETHERNET = "1"  # ARPHRD_ETHER (linux/if_arp.h)
_METERED_TTL_S = 60.0


@dataclass
class NetworkProbe:
    """Answers from the interface that carries the default route."""

    class_net: Path = CLASS_NET
    proc_net: Path = PROC_NET
    is_metered: Callable[[str], bool] | None = None
    """Whether an interface is metered; None asks NetworkManager, at most once a minute."""

    def __post_init__(self) -> None:
        self._ask_metered = self.is_metered or _NetworkManager()

    def __call__(self) -> Network:
        if not self.class_net.is_dir():
            return "unknown"
        answers = [self._kind(name) for name in sorted(set(_default_routes(self.proc_net)))]
        for kind in ("metered", "wifi", "ethernet", "unknown"):  # several routes: take the most restrictive
            if kind in answers:
                return kind
        return "none"

    def _kind(self, name: str) -> Network:
        interface = self.class_net / name
        devtype = _devtype(interface)
        if devtype == "wwan" or name.startswith(("wwan", "ppp", "rmnet", "ccmni")):
            return "metered"
        wireless = devtype == "wlan" or (interface / "wireless").exists() or (interface / "phy80211").exists()
        if not wireless and _read(interface / "type") != _ETHERNET:
            return "unknown"  # a tunnel: the interface below it is not visible here
        if self._ask_metered(name):
            return "metered"
        return "wifi" if wireless else "ethernet"


def _default_routes(proc_net: Path) -> Iterator[str]:
    """Interfaces with a default route: destination and mask all zero, and not a reject route."""
    for line in _read(proc_net / "route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == fields[7] == "00000000":
            yield fields[0]
    for line in _read(proc_net / "ipv6_route").splitlines():
        fields = line.split()
        if len(fields) == 10 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
            yield fields[9]


def _devtype(interface: Path) -> str:
    for line in _read(interface / "uevent").splitlines():
        if line.startswith("DEVTYPE="):
            return line.removeprefix("DEVTYPE=")
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


class _NetworkManager:
    """Asks nmcli whether an interface is metered; without NetworkManager nothing is."""

    def __init__(self) -> None:
        self._nmcli = shutil.which("nmcli")
        self._answers: dict[str, tuple[float, bool]] = {}

    def __call__(self, interface: str) -> bool:
        if self._nmcli is None:
            return False
        asked_at, answer = self._answers.get(interface, (float("-inf"), False))
        if time.monotonic() - asked_at > _METERED_TTL_S:
            answer = self._ask(self._nmcli, interface)
            self._answers[interface] = (time.monotonic(), answer)
        return answer

    @staticmethod
    def _ask(nmcli: str, interface: str) -> bool:
        command = [nmcli, "-g", "GENERAL.METERED", "device", "show", interface]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return answer.stdout.startswith("yes")  # "yes" or "yes (guessed)"
