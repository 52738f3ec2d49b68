import base64
import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.accounts.passwords import WRONG_ALLOWED
from coterie.accounts.selectors import ApiTokenInvalid, live_token
from coterie.accounts.services import NewOperator, create_operator
from coterie.config.exclusive import bind, url_of
from coterie.core.own_address import note_address

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
    for number, said in enumerate(
        [
            ("--scopes", "read", "fleet"),
            ("--scopes", "read", "--scopes", "fleet"),
            ("--scopes", "read,fleet"),
            ("--scopes=read, fleet,", "--scopes", "read"),
        ]
    ):
        call_command("token", "create", f"narrow {number}", "--operator", "ada", *said)
        assert ada.operator.tokens.get(name=f"narrow {number}").scopes == ["read", "fleet"]
    for said, problem in (("read,fleets", "there is no scope fleets; there are read, fleet"), (",", "names none")):
        with pytest.raises(CommandError, match=problem):
            call_command("token", "create", "wide", "--operator", "ada", "--scopes", said)
    with pytest.raises(CommandError, match=r"accounts\.operator_unknown"):
        call_command("token", "create", "ci", "--operator", "eve")
    call_command("token", "create", "apart", "--operator", "ada", "--project", "1")
    assert ada.operator.tokens.get(name="apart").project_id == 1
    with pytest.raises(CommandError, match="there is no project 7"):
        call_command("token", "create", "astray", "--operator", "ada", "--project", "7")
    call_command("token", "create", "old", "--operator", "ada", "--days", "-1", stdout=(out := StringIO()))
    with pytest.raises(ApiTokenInvalid):
        live_token(out.getvalue().strip(), now=ada.operator.date_joined)


def test_the_command_prints_a_link_that_signs_in_where_the_platform_answers(
    ada: NewOperator, settings: Settings, tmp_path: Path
) -> None:
    settings.STATE = tmp_path
    with pytest.raises(CommandError, match=r"cli\.no_address"):
        call_command("sign_in_link", "ada")
    with bind("127.0.0.1", 0) as listener:
        address = url_of(listener)
        note_address(tmp_path, address)
        call_command("sign_in_link", "ada", stdout=(out := StringIO()), stderr=(told := StringIO()))
    assert told.getvalue() == ""
    link = out.getvalue().strip()
    assert link.startswith(f"{address}/sign-in/")
    client = APIClient()
    assert client.post(link.removeprefix(address)).status_code == 302
    assert client.get("/").status_code == 200
    call_command("sign_in_link", "ada", "--json", stdout=(out := StringIO()), stderr=(told := StringIO()))
    assert json.loads(out.getvalue())["url"].startswith(f"{address}/sign-in/")
    assert "answered last" in told.getvalue()


@pytest.mark.parametrize("by", ["option", "setting"])
def test_the_commands_link_has_the_platforms_address(ada: NewOperator, settings: Settings, by: str) -> None:
    address = "https://fleet.example"
    options = {"url": f"{address}/"} if by == "option" else {}
    settings.PUBLIC_URL = "" if by == "option" else address
    call_command("sign_in_link", "ada", **options, stdout=(out := StringIO()), stderr=(told := StringIO()))
    assert out.getvalue().startswith(f"{address}/sign-in/")
    assert told.getvalue() == ""


def test_who_guesses_passwords_has_to_wait(ada: NewOperator) -> None:
    client, guesser = APIClient(), {"REMOTE_ADDR": "192.0.2.1"}
    for _ in range(WRONG_ALLOWED):
        assert client.get("/api/tokens/", **basic("ada", "guessed"), **guesser).status_code == 401
    refused = client.get("/api/tokens/", **basic("ada", ada.password), **guesser)
    assert (refused.status_code, refused.json()["code"]) == (429, "accounts.too_many_attempts")
    form = client.post("/sign-in/", {"username": "ada", "password": ada.password}, format="multipart", **guesser)
    assert (form.status_code, b"Too many wrong passwords" in form.content) == (429, True)
    assert client.get("/api/tokens/", **basic("ada", ada.password)).status_code == 200, "others may still sign in"


def test_the_right_password_never_has_to_wait(ada: NewOperator) -> None:
    home = {"REMOTE_ADDR": "192.0.2.2"}
    for _ in range(WRONG_ALLOWED + 1):
        assert APIClient().get("/api/tokens/", **basic("ada", ada.password), **home).status_code == 200


class WhileTheWindowEnds(MD5PasswordHasher):
    """Takes so long that attempts are not counted any more."""

    def verify(self, password: str, encoded: str) -> bool:
        cache.clear()
        return super().verify(password, encoded)


def test_who_signs_in_while_the_window_ends_gets_in(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.{WhileTheWindowEnds.__name__}"]
    ada = create_operator(username="ada")
    assert APIClient().get("/api/tokens/", **basic("ada", ada.password)).status_code == 200


def test_one_ipv6_network_is_one_guesser(ada: NewOperator) -> None:
    client = APIClient()
    answers = [
        client.get("/api/tokens/", **basic("ada", "guessed"), REMOTE_ADDR=f"2001:db8::{number:x}").status_code
        for number in range(WRONG_ALLOWED + 1)
    ]
    assert answers == [*[401] * WRONG_ALLOWED, 429]


def test_the_admin_has_no_way_in_of_its_own() -> None:
    assert APIClient().get("/admin/login/?next=/admin/").headers["Location"] == "/sign-in/?next=/admin/"


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "-1", "x"])
def test_a_sign_in_link_may_read_like_anything(number: str) -> None:
    link = base64.urlsafe_b64encode(number.encode()).decode().rstrip("=")
    assert APIClient().get(f"/sign-in/{link}.token/").status_code == 410
