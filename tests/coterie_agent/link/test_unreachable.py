"""Why a platform does not answer, as its device's owner reads it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from coterie_agent.link.failure import Unreachable
from coterie_agent.link.http import HttpLink
from coterie_wire.messages import Done, Leave

Behave = Callable[[socket.socket], object]


def of_another_protocol(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH\r\n")


@pytest.fixture
def served() -> Iterator[Callable[[Behave], str]]:
    """The address of a server that reads a request, behaves so, and closes the connection."""
    with ExitStack() as stack:

        def serve(behave: Behave) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def answer() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    behave(connection)

            thread = threading.Thread(target=answer)
            stack.callback(thread.join)
            thread.start()
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

        yield serve


def sentence(url: str) -> str:
    with pytest.raises(Unreachable) as unreachable:
        HttpLink(url, credential="x", record_sent=lambda *_: None).call(Leave(), Done)
    return unreachable.value.detail.removeprefix(f"{url}/device/v1 does not answer: ")


@pytest.mark.parametrize(
    ("behave", "told"),
    [
        (lambda _: None, "it has closed the connection"),
        (of_another_protocol, "what answers there does not speak HTTP"),
    ],
)
def test_a_connection_that_ends(served: Callable[[Behave], str], behave: Behave, told: str) -> None:
    assert sentence(served(behave)) == told


def test_nothing_listens_there() -> None:
    assert sentence("http://127.0.0.1:1") == "Connection refused"
    assert "its name is not found" in sentence("http://nowhere.invalid")
