"""Where a request comes from is told by trusted proxies alone."""

import logging

import pytest

from coterie.gateway.asgi import in_front_of
from coterie.gateway.door.body import Receive
from coterie.gateway.door.proxies import Origin, Proxies
from coterie.gateway.http import Scope, Send

TRUSTED = Proxies(("10.0.0.0/8", "127.0.0.1", "fd00::/8"))


def forwarded(addresses: str, proto: str = "") -> dict[bytes, bytes]:
    return {b"x-forwarded-for": addresses.encode(), **({b"x-forwarded-proto": proto.encode()} if proto else {})}


@pytest.mark.parametrize(
    ("peer", "addresses", "seen"),
    [
        ("127.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("::ffff:127.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.9, 192.0.2.1, 10.1.2.3", "192.0.2.1"),
        ("127.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("127.0.0.1", "10.1.1.1", "10.1.1.1"),
        ("127.0.0.1", "rubbish", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("192.0.2.7", "198.51.100.9", "192.0.2.7"),
    ],
)
def test_the_last_stranger_is_the_client(peer: str, addresses: str, seen: str) -> None:
    assert TRUSTED.origin(peer, "http", forwarded(addresses)).address == seen


@pytest.mark.parametrize(
    ("peer", "proto", "scheme"),
    [
        ("10.0.0.1", "https", "https"),
        ("10.0.0.1", "gopher", "http"),
        ("10.0.0.1", "", "http"),
        ("192.0.2.7", "https", "http"),
    ],
)
def test_the_scheme_is_what_a_trusted_proxy_tells(peer: str, proto: str, scheme: str) -> None:
    assert TRUSTED.origin(peer, "http", forwarded("192.0.2.1", proto)).scheme == scheme


def test_proxies_of_a_public_https_address_that_tell_nothing_speak_https() -> None:
    proxies = Proxies(("10.0.0.1",), https_outside=True)
    assert proxies.origin("10.0.0.1", "http", {}) == Origin("10.0.0.1", "https")
    assert proxies.origin("192.0.2.7", "http", {}) == Origin("192.0.2.7", "http")


def test_a_proxy_that_nobody_named_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    proxies = Proxies()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            proxies.origin("127.0.0.1", "http", forwarded("192.0.2.1"))
    assert [record.getMessage().count("COTERIE_TRUSTED_PROXIES") for record in caplog.records] == [1]


@pytest.mark.parametrize(("kind", "scheme"), [("http", "https"), ("websocket", "wss")])
async def test_everything_behind_sees_the_client(kind: str, scheme: str) -> None:
    seen: list[Scope] = []

    async def site(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    async def send(_event: object) -> None:
        seen.append(scope)

    headers = list(forwarded("192.0.2.1", "https").items())
    scope = {"type": kind, "path": "/x", "headers": headers, "client": ("10.0.0.1", 5)}
    scope["scheme"] = "http" if kind == "http" else "ws"
    await in_front_of(site, TRUSTED)(scope, receive, send)
    assert (seen[0]["client"], seen[0]["scheme"]) == (("192.0.2.1", 0), scheme)
