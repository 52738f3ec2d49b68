"""A server that says by TLS's alert that it refuses the certificate, as proxies do."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from coterie_agent.link.failure import Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.link.socket import SocketLink
from coterie_wire.messages import Done, Leave
from tests.server_certificate import server_certificate


@pytest.fixture
def made_before() -> timedelta:
    """How old the server's certificate is."""
    return timedelta()


@pytest.fixture
def server(tmp_path: Path, made_before: timedelta) -> Iterator[tuple[str, Path]]:
    """Trusts no client's certificate; its address, and its own certificate."""
    certificate = server_certificate(tmp_path, made_before=made_before)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as secured:
            head, _, body = secured.recv(4096).partition(b"\r\n\r\n")
            if not body:  # it comes in a record of its own
                secured.recv(4096)
            assert head.startswith(b"POST /device/v1/leave ")
            secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    def serve() -> None:
        with suppress(OSError):  # closed below
            while True:
                connection, _ = listener.accept()
                with connection.dup() as below:
                    answer(connection)
                    below.shutdown(socket.SHUT_WR)
                    while below.recv(4096):  # a close before that would take back what the client has not read yet
                        pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}", certificate
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()


def link_to(server: tuple[str, Path], certificate: Path, asked: list[bool]) -> HttpLink:
    url, trusted = server
    record = lambda _what, _bytes: None  # noqa: E731
    link = HttpLink(url, credential="x", record_sent=record, ca_file=str(trusted), certificate=certificate)

    def certify() -> bool:
        asked.append(True)
        return True

    link.certify = certify
    return link


def test_an_alert_has_the_device_ask_for_another_at_once(server: tuple[str, Path], tmp_path: Path) -> None:
    (tmp_path / "strange").mkdir()
    asked: list[bool] = []
    link = link_to(server, server_certificate(tmp_path / "strange"), asked)
    with pytest.raises(Unreachable):
        link.call(Leave(), Done)
    assert asked == [True]


def test_a_platform_that_is_not_trusted_is_said_to_be_that(server: tuple[str, Path]) -> None:
    link = HttpLink(server[0], credential="x", record_sent=lambda *_: None)
    with pytest.raises(Unreachable, match=r"certificate is not trusted \(self-signed certificate\); ca_file in"):
        link.call(Leave(), Done)


@pytest.mark.parametrize("made_before", [timedelta(days=2), timedelta(days=-2)])
def test_a_certificate_that_does_not_hold_now_has_the_owner_look_at_the_clock(server: tuple[str, Path]) -> None:
    url, trusted = server
    link = HttpLink(url, credential="x", record_sent=lambda *_: None, ca_file=str(trusted))
    with pytest.raises(Unreachable, match=r"is the clock of this device right\? By it, it is \d{4}-"):
        link.call(Leave(), Done)


def test_authorities_that_cannot_be_read_leave_the_platform_unreached(tmp_path: Path) -> None:
    nothing = lambda *_: None  # noqa: E731
    with pytest.raises(Unreachable, match="No such file"):
        SocketLink(
            "https://127.0.0.1:1",
            credential="x",
            on_wake=nothing,
            on_close=nothing,
            record_sent=nothing,
            ca_file=str(tmp_path / "gone.pem"),
        )


def test_without_a_certificate_and_with_a_damaged_one_none_is_shown(server: tuple[str, Path], tmp_path: Path) -> None:
    asked: list[bool] = []
    assert link_to(server, tmp_path / "missing", asked).call(Leave(), Done) == Done()
    (tmp_path / "damaged").write_bytes(b"-----BEGIN PRIVATE KEY-----\n")
    assert link_to(server, tmp_path / "damaged", asked).call(Leave(), Done) == Done()
    assert asked == []


def test_an_address_with_https_of_a_server_without_tls_is_said_to_be_one() -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        link = HttpLink(url, credential="x", record_sent=lambda _what, _bytes: None)
        with pytest.raises(Unreachable, match="does not speak TLS"):
            link.call(Leave(), Done)
        thread.join()
