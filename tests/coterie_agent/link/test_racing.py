"""Connecting to whichever of several addresses is there first, over real sockets of this machine."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from coterie_agent.link.racing import STAGGER_S, connect_first, in_order

WITHIN_S = 3.0
NOBODY = "127.0.0.1:1"


@pytest.fixture
def listener() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """A place that answers nobody: its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        there = server.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(there)
        yield f"127.0.0.1:{there[1]}"


def test_families_take_turns_ipv6_first_and_addresses_of_one_link_come_last() -> None:
    given = ["10.0.0.1:7", "[fe80::1%2]:7", "[fd00::1]:7", "169.254.0.1:7", "[2001:db8::1]:7", "10.0.0.1:7"]
    assert in_order(given) == ["[fd00::1]:7", "10.0.0.1:7", "[2001:db8::1]:7", "[fe80::1%2]:7", "169.254.0.1:7"]


def test_a_name_is_all_its_addresses() -> None:
    assert "127.0.0.1:7" in in_order(["localhost:7"])
    with pytest.raises(OSError):
        in_order(["nobody.invalid:7"])


def test_where_nobody_listens_the_next_is_tried_at_once(listener: str) -> None:
    begun = time.monotonic()
    way, address = connect_first([NOBODY, NOBODY, listener], within_s=WITHIN_S)
    way.close()
    assert address == listener
    assert time.monotonic() - begun < STAGGER_S


def test_where_nobody_answers_the_next_is_tried_beside(silent: str, listener: str) -> None:
    way, address = connect_first([silent, listener], within_s=60.0)
    way.sendall(b"here")
    way.close()
    assert address == listener, "not a minute later"


def test_where_there_is_nobody_it_says_so(silent: str) -> None:
    with pytest.raises(ConnectionRefusedError):
        connect_first([NOBODY], within_s=WITHIN_S)
    with pytest.raises(TimeoutError):
        connect_first([NOBODY, silent], within_s=0.5)
