"""The page is on an address of the local network, and on no other."""

from ipaddress import ip_address

import pytest

from coterie_agent.config import PageSettings
from coterie_agent.errors import AgentError, Exit
from coterie_agent.network_page.address import is_local, page_address


def own() -> str:
    """The device's address on the way to the platform."""
    return "192.168.1.20"


@pytest.mark.parametrize(
    ("settings", "host", "listens", "authority"),
    [
        (PageSettings(), "192.168.1.20", "192.168.1.20", "192.168.1.20:8719"),
        (PageSettings(address="10.0.0.7", port=99), "10.0.0.7", "10.0.0.7", "10.0.0.7:99"),
        (PageSettings(address="RaspberryPi.local"), "raspberrypi.local", "192.168.1.20", "raspberrypi.local:8719"),
        (PageSettings(address="fd00::5"), "fd00::5", "fd00::5", "[fd00::5]:8719"),
        (PageSettings(address="fd00::443", port=443), "fd00::443", "fd00::443", "[fd00::443]"),
        (PageSettings(address="127.0.0.1"), "127.0.0.1", "127.0.0.1", "127.0.0.1:8719"),
    ],
)
def test_where_it_is(settings: PageSettings, host: str, listens: str, authority: str) -> None:
    found = page_address(settings, own)
    assert (found.host, found.listens, found.authority) == (host, listens, authority)


def test_no_address_of_the_internet_is_taken() -> None:
    for settings in (PageSettings(address="8.8.8.8"), PageSettings(address="0.0.0.0"), PageSettings(address="2600::1")):
        with pytest.raises(AgentError, match=r"\[page\]") as refusal:
            page_address(settings, own)
        assert (refusal.value.code, refusal.value.exit_code) == ("page.public_address", Exit.BAD_CONFIG)
    with pytest.raises(AgentError, match="no address of a local network"):
        page_address(PageSettings(address="raspberrypi.local"), lambda: "8.8.8.8")


def test_the_way_to_a_platform_on_the_device_itself_leads_to_no_network() -> None:
    with pytest.raises(AgentError, match="name it in agent") as refusal:
        page_address(PageSettings(address="pi.local"), lambda: "127.0.0.1")
    assert refusal.value.code == "page.no_address"


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("192.168.1.5", True),
        ("169.254.9.9", True),
        ("100.64.1.1", True),  # of a carrier or a virtual private network, to which the internet does not lead
        ("fe80::1", True),
        ("::ffff:10.0.0.1", True),
        ("::ffff:8.8.8.8", False),
        ("8.8.8.8", False),
        ("224.0.0.1", False),
        ("2600::1", False),
    ],
)
def test_what_is_local(host: str, local: bool) -> None:
    assert is_local(ip_address(host)) is local


@pytest.mark.parametrize("name", ["a b", "https://pi", "pi:80", "[::1]", "-" * 300, "pi/page"])
def test_what_is_no_address_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="neither an address nor a name"):
        PageSettings(address=name)
