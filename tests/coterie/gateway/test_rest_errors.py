"""Bodies that no program of good will sends get their code, and no 500."""

import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    client = APIClient()
    client.force_authenticate(create_operator(username="ada").operator)
    return client


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "rest.invalid"),
        (b"{", 400, "rest.malformed"),
        (b"\xff", 400, "rest.malformed"),
        (b"NaN", 400, "rest.malformed"),
        (b'{"pair": 1e400}', 400, "rest.malformed"),
        (b"[]", 400, "rest.invalid"),
        (b"[" * 100_000, 400, "rest.malformed"),
        (b'{"name": "\\ud800"}', 400, "rest.invalid"),
        (b'{"pair": "\\ud800"}', 400, "rest.invalid"),
        (b'{"name": "zero\\u0000byte"}', 400, "rest.invalid"),
        (b" " * (3 << 20), 413, "rest.too_large"),
    ],
)
def test_a_bad_body_is_refused(body: bytes, status: int, code: str, client: APIClient) -> None:
    answer = client.post("/api/federations/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer["Content-Type"] == "application/problem+json"


def test_a_body_that_is_not_json_is_refused(client: APIClient) -> None:
    answer = client.post("/api/federations/", {"name": "digits"}, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (415, "rest.unsupported_media_type")


@pytest.mark.parametrize("path", ["/api/nothing/", "/api/devices/x/why/", "/api/versions/1/compare/1/"])
def test_an_address_that_is_none_is_told_like_every_error(path: str, client: APIClient) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "rest.not_found")
