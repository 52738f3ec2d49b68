"""Requests out of a connection's bytes, however they are cut."""

from http import HTTPStatus
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.bounded_server import MAX_HEAD_BYTES
from coterie_agent.serving.http1 import Head, Request, Requests
from coterie_agent.site import MAX_BODY_BYTES, RequestError

POST = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345"
GET = b"GET /status HTTP/1.0\r\nX-One: a\r\nx-one:b \r\n\r\n"


@given(st.lists(st.integers(0, len(POST + GET + POST)), max_size=8))
def test_requests_are_the_same_however_their_bytes_are_cut(cuts: list[int]) -> None:
    sent, requests, found = POST + GET + POST, Requests(), []
    places = [0, *sorted(cuts), len(sent)]
    for start, end in pairwise(places):
        requests.receive(sent[start:end])
        while (request := requests.take()) is not None:
            found.append(request)
    post = Request(Head("POST", "/predict", {"host": "localhost", "content-length": "5"}, True), b"12345")
    assert found == [post, Request(Head("GET", "/status", {"x-one": "a, b"}, False), b""), post]
    assert not requests.has_begun and len(requests) == 0


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET /status\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET /status HTTP/2.0\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET  /status HTTP/1.1\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"BREW /coffee HTTP/1.1\r\n\r\n", HTTPStatus.METHOD_NOT_ALLOWED, "local_api.malformed"),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET / HTTP/1.1\r\n: empty\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET / HTTP/1.1\r\nContent-Length : 3\r\n\r\nabc", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"GET / HTTP/1.1\r\nA: b\nContent-Length: 3\r\n\r\nabc", HTTPStatus.BAD_REQUEST, "local_api.malformed"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", HTTPStatus.LENGTH_REQUIRED, "local_api.no_length"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", HTTPStatus.LENGTH_REQUIRED, "local_api.no_length"),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            HTTPStatus.LENGTH_REQUIRED,
            "local_api.no_length",
        ),
        (
            b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "local_api.too_large",
        ),
        (
            b"GET / HTTP/1.1\r\nA: " + b"b" * MAX_HEAD_BYTES,
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "local_api.malformed",
        ),
        (
            b"GET / HTTP/1.1\r\nA: " + b"b" * MAX_HEAD_BYTES + b"\r\n\r\n",
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "local_api.malformed",
        ),
    ],
)
def test_what_is_malformed_or_too_large_is_refused(sent: bytes, status: HTTPStatus, code: str) -> None:
    requests = Requests()
    requests.receive(sent)
    with pytest.raises(RequestError) as refused:
        requests.take()
    assert (refused.value.status, refused.value.code) == (status, code)


def test_a_body_is_waited_for_and_one_that_waits_for_leave_says_so() -> None:
    requests = Requests()
    requests.receive(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert requests.take() is None and requests.waits_for_leave and requests.has_begun
    requests.receive(b"a")
    assert requests.take() is None and not requests.waits_for_leave
    requests.receive(b"b")
    found = requests.take()
    assert found is not None and found.body == b"ab"
