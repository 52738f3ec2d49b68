"""Downloads that the platform sends to an object storage: followed without the credential, and not for ever."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coterie_agent.link.failure import Unreachable
from coterie_agent.link.http import HttpLink

CONTENT = bytes(range(200))
Heard = list[tuple[str, dict[str, str]]]


@contextmanager
def server(answers: dict[str, tuple[int, dict[str, str], bytes]]) -> Iterator[tuple[str, Heard]]:
    """One that gives each path its answer, and what it heard."""
    heard: Heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = answers[self.path]
            if "prefer" not in heard[-1][1] and status == 307:
                status, headers, body = 200, {}, CONTENT
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}", heard
        finally:
            running.shutdown()
            thread.join()


def link(url: str) -> HttpLink:
    return HttpLink(url, credential="secret", record_sent=lambda _what, _size: None)


def redirected(to: str, **headers: str) -> dict[str, tuple[int, dict[str, str], bytes]]:
    return {"/device/v1/blobs/ab": (307, {"Location": to, **headers}, b"")}


MARK = {"Preference-Applied": "presigned"}


def test_the_storage_is_told_the_range_and_not_the_credential() -> None:
    with (
        server({"/signed": (206, {}, CONTENT[50:])}) as (storage, asked),
        server(redirected(f"{storage}/signed", **MARK)) as (platform, _),
    ):
        assert b"".join(link(platform).download("ab", 50)) == CONTENT[50:]
    ((_, headers),) = asked
    assert headers["range"] == "bytes=50-" and "authorization" not in headers


@pytest.mark.parametrize("status", [403, 503, None])
def test_a_storage_that_does_not_serve_is_not_asked_again(status: int | None) -> None:
    with server({"/signed": (status or 200, {}, b"no")}) as (storage, asked):
        place = f"{storage}/signed" if status else "http://127.0.0.1:1/signed"
        with server(redirected(place, **MARK)) as (platform, _):
            agent = link(platform)
            with pytest.raises(Unreachable):
                list(agent.download("ab", 0))
            assert b"".join(agent.download("ab", 0)) == CONTENT
        assert len(asked) == (1 if status else 0)


def test_a_portals_redirection_is_not_followed() -> None:
    with server({"/sign-in": (200, {}, b"<html>")}) as (portal, asked):
        with server(redirected(f"{portal}/sign-in")) as (platform, _), pytest.raises(Unreachable, match="did not make"):
            list(link(platform).download("ab", 0))
        assert asked == []
