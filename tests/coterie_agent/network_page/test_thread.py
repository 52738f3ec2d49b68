"""The page follows the device's address, and says why it is not there."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.network_page.address import PageAddress
from coterie_agent.network_page.thread import NetworkPage, PageStatus
from coterie_agent.owner_page.files import OWNER_PAGE, pages
from coterie_agent.site import Site
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store
from tests.coterie_agent.network_page.phone import Phone


@pytest.fixture
def own() -> list[str]:
    """The device's address, in a list of one; blank: it has none."""
    return ["127.0.0.2"]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def page(tmp_path: Path, own: list[str], port: int) -> Iterator[NetworkPage]:
    home, situation = Home(tmp_path), Situation()

    def find() -> PageAddress:
        if not own[0]:
            raise AgentError("relay.no_address", "it has no address")
        return PageAddress("pi.local", own[0], port)

    with open_store(home) as store:
        page = NetworkPage(
            home=home,
            find=find,
            phones=store.phones,
            site=Site(routes={}, pages=pages(OWNER_PAGE)),
            situation=situation,
            period_s=0.05,
        )
        thread = threading.Thread(target=page.run)
        thread.start()
        yield page
        situation.stop()
        thread.join(10)
        assert not thread.is_alive() and not home.network_page.exists()


def standing(page: NetworkPage) -> PageStatus:
    try:
        return msgspec.json.decode(page.home.network_page.read_bytes(), type=PageStatus)
    except FileNotFoundError:
        return PageStatus()


def eventually(look: Callable[[], object]) -> None:
    ends_at = time.monotonic() + 20
    while not look():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def answers(host: str, port: int) -> bool:
    phone = Phone(f"{host}:{port}")
    try:
        return phone.ask("GET", "/", host=f"pi.local:{port}")[0] == 200
    except OSError:
        return False


def test_it_follows_the_devices_address_under_one_certificate(page: NetworkPage, own: list[str], port: int) -> None:
    eventually(lambda: answers("127.0.0.2", port))
    before = standing(page)
    assert before.authority == f"pi.local:{port}" and not answers("127.0.0.3", port)
    own[0] = "127.0.0.3"
    eventually(lambda: answers("127.0.0.3", port))
    assert not answers("127.0.0.2", port) and standing(page) == before


def test_what_is_in_its_way_is_said_and_tried_again(page: NetworkPage, own: list[str], port: int) -> None:
    eventually(lambda: standing(page).authority)
    own[0] = ""
    eventually(lambda: standing(page).code == "relay.no_address")
    with socket.create_server(("127.0.0.4", port)):
        own[0] = "127.0.0.4"
        eventually(lambda: standing(page).code == "page.port_taken")
    eventually(lambda: answers("127.0.0.4", port))
    eventually(lambda: standing(page).authority)
