"""Announcing and hearing over multicast, on the loopback network."""

import sys
import threading
from pathlib import Path

import pytest

from coterie_agent.discovery.local_network import LocalNetwork
from coterie_agent.errors import AgentError, Exit
from tests.coterie_agent.discovery.devices import Device

LOOPBACK = ("127.0.0.1",)
WITHIN_S = 20.0


def test_two_devices_hear_of_each_other_and_ask_for_the_record(tmp_path: Path) -> None:
    """Neither knows of the other before; one announces itself, the other only listens."""
    a, b = Device("a", tmp_path), Device("b", tmp_path, announces=False)
    heard = threading.Event()
    b.book.news = heard.set
    networks = [
        LocalNetwork(a.book, lambda: a.address, a.record_sent, LOOPBACK),
        LocalNetwork(b.book, lambda: None, b.record_sent, LOOPBACK),
    ]
    try:
        for device in (a, b):
            device.seeking.step()
        for network in networks:
            network.start()
        assert heard.wait(WITHIN_S)
        (named,) = b.book.named()
        assert (named.key, named.addresses) == (a.key, (a.address,))
        b.seeking.step()
        (found,) = b.book.store.neighbours(now=b.now)
        assert (found.device, found.found, found.meetings) == ("a", "local network", a.address)
        assert (a.sent["announcement"] > 0, b.sent.get("announcement")) == (True, None)
        assert a.book.named() == [], "who only listens is not heard"
    finally:
        for network in networks:
            network.close()
        for device in (a, b):
            device.close()


def test_an_announcement_names_neither_device_nor_host(tmp_path: Path) -> None:
    a = Device("a-device-of-anna", tmp_path)
    try:
        service = LocalNetwork(a.book, lambda: a.address, a.record_sent)._service(a.address)
        told = f"{service.name} {service.server} {service.properties!r}"
        assert "anna" not in told
        assert set(service.properties) == {b"v", b"k"}
    finally:
        a.close()


def test_an_address_of_ipv6_is_announced(tmp_path: Path) -> None:
    a = Device("a", tmp_path)
    try:
        service = LocalNetwork(a.book, lambda: None, a.record_sent)._service("[fd00:7::1]:8717")
        assert (service.parsed_addresses(), service.port) == (["fd00:7::1"], 8717)
    finally:
        a.close()


def test_without_zeroconf_the_owner_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zeroconf", None)
    a = Device("a", tmp_path)
    try:
        with pytest.raises(AgentError, match=r"pip install 'coterie-agent\[mdns\]'") as refusal:
            LocalNetwork(a.book, lambda: None, a.record_sent).start()
        assert (refusal.value.code, refusal.value.exit_code) == ("discovery.no_zeroconf", Exit.BAD_CONFIG)
    finally:
        a.close()
