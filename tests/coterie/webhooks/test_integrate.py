"""The programs of docs/how-to/integrate.md do what it says of them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator, issue_token
from coterie.core.acting import Scope
from coterie.federations.models import Federation
from coterie.rounds.models import Round
from coterie.webhooks.calling import call
from coterie.webhooks.signing import new_secret, signed_headers
from tests.coterie.world import START, make_federation, make_pair, make_version

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "integrate.md"


def program(name: str) -> dict[str, object]:
    """What a program of the page defines; its last part, for the command line, is not run."""
    (code,) = re.findall(rf"```python\n(# {name}\.py:.*?)```", PAGE.read_text(), re.DOTALL)
    defined: dict[str, object] = {"__name__": name}
    exec(compile(code, f"{PAGE}:{name}", "exec"), defined)
    return defined


def test_the_receiver_takes_what_is_signed_once_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, body = new_secret(), b'{"id":"one","event":"test"}'
    monkeypatch.setenv("COTERIE_WEBHOOK_SECRET", secret)
    receiver = program("receiver")["Receiver"]
    receiver.log_message = lambda *_: None
    now = datetime.now(UTC)
    signed = signed_headers(secret, "one", body, now)

    def post(port: int, content: bytes, headers: Mapping[str, str]) -> int:
        return call(f"http://127.0.0.1:{port}/", content, headers, allowed_hosts=("127.0.0.1",))

    with HTTPServer(("127.0.0.1", 0), receiver) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            port = server.server_port
            assert [post(port, body, signed) for _ in range(2)] == [204, 204]
            assert post(port, body + b" ", signed) == 400
            assert post(port, body, {**signed, "webhook-id": "two"}) == 400
            assert post(port, body, signed_headers(secret, "one", body, now - timedelta(minutes=6))) == 400
            assert post(port, body, signed_headers(new_secret(), "one", body, now)) == 400
            assert post(port, body, {}) == 400
            announced = HTTPConnection("127.0.0.1", port)
            announced.request("POST", "/", headers={"Content-Length": str((1 << 20) + 1)})
            assert announced.getresponse().status == 413
            announced.close()
        finally:
            server.shutdown()
            thread.join()
    assert receiver.seen == {"one": {"id": "one", "event": "test"}}


@pytest.fixture
def federation(db: None) -> Federation:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    for number in range(1, 4):
        Round.objects.create(federation=federation, number=number, state="abandoned", opens_at=START, seed=number)
    return federation


def reached(request: httpx.Request) -> httpx.Response:
    """What Django answers."""
    given = {"HTTP_AUTHORIZATION": request.headers["Authorization"]} if "Authorization" in request.headers else {}
    answer = APIClient().get(str(request.url), **given)
    return httpx.Response(answer.status_code, headers=dict(answer.items()), content=answer.content)


def test_the_rounds_of_a_federation_are_listed_newest_first(federation: Federation) -> None:
    latest_rounds = program("rounds")["latest_rounds"]
    ada = create_operator(username="ada").operator
    secret = issue_token(operator=ada, name="dashboard", scopes=[Scope.READ], now=START).secret
    with httpx.Client(transport=httpx.MockTransport(reached), base_url="http://localhost") as platform:
        with pytest.raises(RuntimeError, match=r"rest\.unauthenticated"):
            list(latest_rounds(platform, str(federation.pk)))
        platform.headers["Authorization"] = f"Bearer {secret}"
        assert list(latest_rounds(platform, str(federation.pk))) == [(n, "abandoned") for n in (3, 2, 1)]
