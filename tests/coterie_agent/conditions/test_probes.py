"""Probes read what Linux writes; a probe that cannot tell says so."""

from pathlib import Path

import pytest

from coterie_agent.conditions.network import NetworkProbe
from coterie_agent.conditions.power_supply import probe_power_supply
from coterie_agent.conditions.temperature import probe_temperature
from coterie_agent.conditions.termux import Battery

IPV4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def write(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({}, "yes"),
        ({"BAT0/type": "Battery", "BAT0/status": "Discharging"}, "no"),
        ({"BAT0/type": "Battery", "BAT0/status": "Charging"}, "yes"),
        ({"BAT0/type": "Battery", "BAT0/status": "Not charging"}, "yes"),
        ({"BAT0/type": "Battery", "BAT0/status": "Unknown"}, "unknown"),
        ({"BAT0/type": "Battery"}, "unknown"),
        ({"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, "yes"),
        ({"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, "no"),
        ({"mouse/type": "Battery", "mouse/scope": "Device", "mouse/status": "Discharging"}, "yes"),
    ],
)
def test_power_supply(tmp_path: Path, files: dict[str, str], answer: str) -> None:
    assert probe_power_supply(write(tmp_path / "power_supply", files)) == answer


def test_a_system_without_power_supplies_does_not_tell(tmp_path: Path) -> None:
    assert probe_power_supply(tmp_path / "missing") is None


def network(tmp_path: Path, interfaces: dict[str, str], routed: list[str], *, metered: bool = False) -> str:
    write(tmp_path / "net", {f"{name}/uevent": f"INTERFACE={name}" for name in interfaces})
    write(tmp_path / "net", {f"{name}/{extra}": "1" for name, extra in interfaces.items()})
    write(tmp_path / "net", {f"{name}/type": "1" for name in interfaces if not name.startswith("tun")})
    rows = "".join(f"{name}\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" for name in routed)
    write(tmp_path / "proc", {"route": IPV4 + rows})
    return NetworkProbe(tmp_path / "net", tmp_path / "proc", lambda _: metered)()


def test_the_default_route_decides(tmp_path: Path) -> None:
    interfaces = {"eth0": "carrier", "wlan0": "wireless/status"}
    assert network(tmp_path, interfaces, ["wlan0"]) == "wifi"
    assert network(tmp_path, interfaces, ["eth0"]) == "ethernet"
    assert network(tmp_path, interfaces, []) == "none"
    assert network(tmp_path, interfaces, ["wlan0"], metered=True) == "metered"


def test_mobile_data_is_metered_and_a_tunnel_is_unknown(tmp_path: Path) -> None:
    assert network(tmp_path, {"wwan0": "carrier"}, ["wwan0"]) == "metered"
    assert network(tmp_path, {"tun0": "carrier"}, ["tun0"]) == "unknown"


def test_an_ipv6_route_counts(tmp_path: Path) -> None:
    write(tmp_path / "net", {"eth0/type": "1"})
    zero = "0" * 32
    write(tmp_path / "proc", {"ipv6_route": f"{zero} 00 {zero} 00 fe80{'0' * 28} 00000400 1 0 00000003 eth0"})
    assert NetworkProbe(tmp_path / "net", tmp_path / "proc", lambda _: False)() == "ethernet"


def test_another_system_does_not_tell_its_network(tmp_path: Path) -> None:
    assert NetworkProbe(tmp_path / "missing", tmp_path / "missing")() == "unknown"


def test_the_hottest_zone_counts(tmp_path: Path) -> None:
    zones = {"thermal_zone0/temp": "41500", "thermal_zone1/temp": "63000", "thermal_zone2/temp": "off"}
    assert probe_temperature(write(tmp_path / "thermal", zones)) == 63.0
    assert probe_temperature(tmp_path / "missing") is None


@pytest.mark.parametrize(("plugged", "answer"), [("PLUGGED_AC", "yes"), ("UNPLUGGED", "no"), ("UNKNOWN", "unknown")])
def test_termux_battery(plugged: str, answer: str) -> None:
    assert Battery(plugged=plugged).charging == answer
