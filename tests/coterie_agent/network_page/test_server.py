"""Who may ask over the network, how often he may guess, and how long he may take."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.network_page.address import PageAddress
from coterie_agent.network_page.certificate import PageCertificate, page_certificate
from coterie_agent.network_page.guesses import WRONG_ALLOWED
from coterie_agent.network_page.link import offer_link
from coterie_agent.network_page.server import OF_AN_ADDRESS, STAYS_S, PageAccess, PageServer
from coterie_agent.owner_page.files import OWNER_PAGE, pages
from coterie_agent.site import Site
from coterie_agent.store.opened import open_store
from coterie_agent.store.phones import PhoneStore
from tests.coterie_agent.network_page.phone import Phone


class Told(msgspec.Struct, frozen=True):
    """What the only route answers."""

    secret: str = "the owner's"


SITE = Site(routes={"GET /owner": lambda _: Told()}, pages=pages(OWNER_PAGE), keeps_connections=True)


class Served:
    """A server, its door, and a clock that the tests set."""

    def __init__(self, phones: PhoneStore, certificate: PageCertificate) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.now = 1000.0
        self.phones, self.certificate = phones, certificate
        self.address = PageAddress("127.0.0.1", "127.0.0.1", port)
        self.door = PageAccess(address=self.address, phones=phones, clock=self.clock)
        self.server = PageServer(SITE, self.door, certificate)

    def clock(self) -> float:
        return self.now

    def link(self) -> str:
        return offer_link(self.phones, self.address.authority, self.certificate.fingerprint, now=self.now).url

    def phone(self) -> Phone:
        return Phone(self.address.authority)

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.address.port), timeout=10) as connection:
            yield connection


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with open_store(Home(tmp_path)) as store:
        certificate = page_certificate(Home(tmp_path).page_certificate, "127.0.0.1", datetime.now(UTC))
        served = Served(store.phones, certificate)
        thread = threading.Thread(target=served.server.run, daemon=True)
        thread.start()
        yield served
        served.server.shutdown()
        served.server.server_close()
        thread.join(5)


def eventually(look: Callable[[], object]) -> None:
    ends_at = time.monotonic() + 20
    while not look():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def test_a_phone_is_let_in_once_by_a_link_and_then_known_by_its_cookie(served: Served) -> None:
    phone, other, link = served.phone(), served.phone(), served.link()
    assert phone.code("GET", "/owner") == (401, "page.not_let_in")
    assert phone.open(link) == 200
    assert phone.fingerprint == served.certificate.fingerprint
    assert phone.set_cookie.startswith(f"__Host-coterie-{served.address.port}=")
    flags = {flag.strip() for flag in phone.set_cookie.split(";")[1:]}
    assert flags == {"Max-Age=2592000", "Path=/", "Secure", "HttpOnly", "SameSite=Strict"}
    assert phone.ask("GET", "/owner")[0] == 200
    assert other.code("POST", "/open", {"secret": link.partition("#")[2]}) == (403, "page.used_link")
    assert other.code("GET", "/owner") == (401, "page.not_let_in")


def test_a_phone_is_let_in_until_its_owner_signs_it_out(served: Served) -> None:
    phone = served.phone()
    assert phone.open(served.link()) == 200
    served.now += STAYS_S - 1
    assert phone.ask("GET", "/owner")[0] == 200
    served.phones.sign_out()
    assert phone.code("GET", "/owner") == (401, "page.not_let_in")


def test_cookies_of_other_ports_do_not_hide_the_one(served: Served) -> None:
    phone = served.phone()
    phone.open(served.link())
    phone.cookie = f'a=; b c="; __Host-coterie-1=x; {phone.cookie}; ='
    assert phone.ask("GET", "/owner")[0] == 200


def test_pages_are_for_all_and_hold_nothing_of_the_device(served: Served) -> None:
    status, headers, content = served.phone().ask("GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["Content-Security-Policy"] and b"owner.js" in content


@pytest.mark.parametrize("path", ["/", "/owner"])
def test_other_names_and_other_pages_are_kept_out(served: Served, path: str) -> None:
    phone = served.phone()
    phone.open(served.link())
    assert phone.code("GET", path, host="evil.example:8719") == (403, "page.foreign_host")
    for origin in ("https://evil.example", "null", f"http://{served.address.authority}"):
        assert phone.code("GET", path, origin=origin) == (403, "page.foreign_origin")
    assert phone.ask("GET", path, origin=f"https://{served.address.authority}")[0] == 200


def test_wrong_guesses_are_few_and_do_not_spend_the_link(served: Served) -> None:
    link, phone = served.link(), served.phone()
    for _ in range(WRONG_ALLOWED):
        assert phone.code("POST", "/open", {"secret": "guess"}) == (403, "page.used_link")
    status, headers, content = phone.ask("POST", "/open", {"secret": link.partition("#")[2]})
    assert (status, headers["Retry-After"]) == (429, "60") and b"page.too_many_guesses" in content
    served.door.guesses.forgive("127.0.0.1")
    assert phone.open(link) == 200


@pytest.mark.parametrize("body", [{}, {"secret": 5}, {"secret": "x" * 101}, {"secret": "x", "more": 1}, []])
def test_what_makes_no_sense_is_refused(served: Served, body: object) -> None:
    assert served.phone().code("POST", "/open", body) == (400, "local_api.malformed")


def test_a_connection_carries_one_request_after_another(served: Served) -> None:
    context = ssl.create_default_context(cafile=str(served.certificate.file))
    with served.connected() as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as secured:
        for _ in range(3):
            secured.sendall(f"GET /page.js HTTP/1.1\r\nHost: {served.address.authority}\r\n\r\n".encode())
            received = b""
            while b"notLetIn = refusal" not in received:
                received += secured.recv(65536)
            assert received.startswith(b"HTTP/1.1 200")
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_who_speaks_no_tls_or_says_nothing_is_ended_and_others_are_answered(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PageServer, "read_s", 0.1)
    with served.connected() as silent, served.connected() as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP")
        assert served.phone().ask("GET", "/")[0] == 200
        assert silent.recv(100) == b""
    assert caplog.text == ""


def test_one_address_has_so_many_places(served: Served) -> None:
    with ExitStack() as held:
        for _ in range(OF_AN_ADDRESS):
            held.enter_context(served.connected())
        eventually(lambda: served.server._held.total() == OF_AN_ADDRESS)
        with pytest.raises(OSError, match=r".*"):
            served.phone().ask("GET", "/")
    eventually(lambda: served.server._held.total() == 0)
    assert served.phone().ask("GET", "/")[0] == 200


def test_the_internet_is_not_answered(served: Served) -> None:
    with socket.socket() as request:
        assert served.server.verify_request(request, ("192.168.1.9", 1))
        assert not served.server.verify_request(request, ("8.8.8.8", 1))


def test_a_port_that_is_taken_is_said(served: Served) -> None:
    door = PageAccess(address=served.address, phones=served.phones)
    with pytest.raises(AgentError, match=r"\[page\]") as refusal:
        PageServer(SITE, door, served.certificate)
    assert (refusal.value.code, refusal.value.exit_code) == ("page.port_taken", Exit.BAD_CONFIG)
