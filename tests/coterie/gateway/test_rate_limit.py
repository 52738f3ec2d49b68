"""Who asks too often has to wait, and nobody else has."""

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator, issue_token
from tests.coterie.world import START

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def three_a_minute(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    settings.REQUESTS_PER_MINUTE = 3
    monkeypatch.setattr("time.time", lambda: 1_000_000_050.0)


def ask(client: APIClient, address: str = "192.0.2.1") -> int:
    return int(client.get("/api/devices/", REMOTE_ADDR=address).status_code)


def test_each_person_and_each_token_has_its_own_count() -> None:
    ada = create_operator(username="ada").operator
    browser, program = APIClient(), APIClient()
    browser.force_login(ada)
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_token(operator=ada, name='ci', now=START).secret}")
    assert [ask(browser) for _ in range(4)] == [200, 200, 200, 429]
    assert [ask(program) for _ in range(4)] == [200, 200, 200, 429]
    refused = browser.get("/api/devices/")
    assert (refused.json()["code"], refused["Retry-After"]) == ("gateway.too_many_requests", "30")
