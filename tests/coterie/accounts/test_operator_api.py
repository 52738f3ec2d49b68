import base64
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from coterie.accounts.selectors import ApiTokenInvalid, live_token
from coterie.accounts.services import NewOperator, create_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> NewOperator:
    return create_operator(username="ada")


def basic(name: str, password: str) -> dict[str, str]:
    return {"HTTP_AUTHORIZATION": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}


def test_a_password_gets_a_token_and_the_token_gets_in(ada: NewOperator) -> None:
    client = APIClient()
    made = client.post("/api/tokens/", {"name": "ci"}, **basic("ada", ada.password)).json()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made['secret']}")
    (listed,) = client.get("/api/tokens/").json()["results"]
    assert listed["last_used_at"] is not None
    assert "secret" not in listed
    again = client.post("/api/tokens/", {"name": "ci"})
    assert (again.status_code, again.json()["code"]) == (409, "accounts.token_name_taken")
    assert client.delete(f"/api/tokens/{made['id']}/").status_code == 204
    ended = client.get("/api/tokens/")
    assert (ended.status_code, ended.json()["code"]) == (401, "accounts.token_invalid")


def test_tokens_are_ones_own(ada: NewOperator) -> None:
    client = APIClient()
    made = client.post("/api/tokens/", {"name": "ci"}, **basic("ada", ada.password)).json()
    client.force_authenticate(create_operator(username="bob").operator)
    assert client.get("/api/tokens/").json()["results"] == []
    assert client.delete(f"/api/tokens/{made['id']}/").status_code == 404


def test_a_wrong_password_gets_nothing(ada: NewOperator) -> None:
    answer = APIClient().post("/api/tokens/", {"name": "ci"}, **basic("ada", "guessed"))
    assert (answer.status_code, answer.json()["code"]) == (401, "rest.unauthenticated")


def test_the_command_makes_a_token(ada: NewOperator, now: object) -> None:
    out = StringIO()
    call_command("token", "create", "ci", "--operator", "ada", "--json", stdout=out)
    assert live_token(json.loads(out.getvalue())["secret"], now=now).operator == ada.operator
    with pytest.raises(CommandError, match=r"accounts\.token_name_taken"):
        call_command("token", "create", "ci", "--operator", "ada")
    with pytest.raises(CommandError, match=r"accounts\.operator_unknown"):
        call_command("token", "create", "ci", "--operator", "eve")
    call_command("token", "create", "old", "--operator", "ada", "--days", "-1", stdout=(out := StringIO()))
    with pytest.raises(ApiTokenInvalid):
        live_token(out.getvalue().strip(), now=ada.operator.date_joined)


def test_the_command_prints_a_link_that_signs_in(ada: NewOperator) -> None:
    call_command("sign_in_link", "ada", stdout=(out := StringIO()))
    client = APIClient()
    assert client.get(out.getvalue().strip()).status_code == 302
    assert client.get("/").status_code == 200
