"""Nobody who has a second factor comes in without it by any door, no code works twice, and sessions can be ended."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from coterie.accounts.models import BrowserSession, Operator, RecoveryCode, SecondFactor
from coterie.accounts.passwords import WRONG_ALLOWED
from coterie.accounts.second_factor import (
    NoSecondFactor,
    SecondFactorRequired,
    TooManyCodes,
    WrongCode,
    begin_second_factor,
    check_code,
    confirm_second_factor,
    remove_second_factor,
)
from coterie.accounts.services import change_operator, create_operator, sign_in_path
from coterie.core.acting import OperatorRole
from coterie.gateway.credentials import NobodyActs, operator_behind
from tests.coterie.accounts.authenticator import code_of

pytestmark = pytest.mark.django_db
NOW = timezone.now()


class Person:
    """An operator who has a second factor, and what they remember."""

    def __init__(self) -> None:
        self.operator, self.password = create_operator(username="ada")
        begin_second_factor(operator=self.operator, now=NOW)
        self.codes = confirm_second_factor(operator=self.operator, code=self.code(), now=NOW)

    def code(self, minutes: float = 0.0) -> str:
        return code_of(SecondFactor.objects.get(), at=NOW + timedelta(minutes=minutes))

    def now_code(self) -> str:
        SecondFactor.objects.update(last_step=-1)
        return code_of(SecondFactor.objects.get())


@pytest.fixture(autouse=True)
def no_attempts_of_other_tests() -> None:
    cache.clear()


@pytest.fixture
def ada() -> Person:
    return Person()


def is_in(client: Client) -> bool:
    return client.get("/api/session/").json()["operator"] is not None


def test_codes_are_those_of_the_standard() -> None:
    operator = create_operator(username="ada").operator
    factor = SecondFactor(operator=operator, secret=b"12345678901234567890", created_at=NOW)
    assert code_of(factor, at=datetime.fromtimestamp(1111111109, UTC)) == "081804"


def test_a_code_works_once_and_for_as_long_as_clocks_differ(ada: Person) -> None:
    later = NOW + timedelta(minutes=10)
    for off, works in ((-1.0, False), (1.0, False), (-0.5, True), (0.0, True), (0.0, False), (0.5, True), (0.0, False)):
        code = ada.code(10 + off)
        if works:
            check_code(operator=ada.operator, code=f" {code[:3]} {code[3:]}", now=later)
        else:
            with pytest.raises(WrongCode):
                check_code(operator=ada.operator, code=code, now=later)


def test_a_recovery_code_works_once_however_it_is_typed(ada: Person) -> None:
    check_code(operator=ada.operator, code=ada.codes[0].upper().replace("-", " "), now=NOW)
    with pytest.raises(WrongCode):
        check_code(operator=ada.operator, code=ada.codes[0], now=NOW)
    assert RecoveryCode.objects.filter(used_at=None).count() == len(ada.codes) - 1


def test_nobody_tries_all_codes(ada: Person) -> None:
    for _ in range(WRONG_ALLOWED):
        with pytest.raises(WrongCode):
            check_code(operator=ada.operator, code="x", now=NOW)
    with pytest.raises(TooManyCodes):
        check_code(operator=ada.operator, code=ada.code(5), now=NOW + timedelta(minutes=5))


def test_another_app_takes_over_only_when_it_is_confirmed(ada: Person) -> None:
    begin_second_factor(operator=ada.operator, now=NOW)
    old = SecondFactor.objects.get(confirmed_at__isnull=False)
    later = NOW + timedelta(minutes=5)
    check_code(operator=ada.operator, code=code_of(old, at=later), now=later)
    new = SecondFactor.objects.get(confirmed_at=None)
    with pytest.raises(WrongCode):
        confirm_second_factor(operator=ada.operator, code=code_of(old, at=later), now=later)
    confirm_second_factor(operator=ada.operator, code=code_of(new, at=later), now=later)
    assert SecondFactor.objects.get().pk == new.pk


def test_the_form_asks_for_the_code_and_goes_where_one_wanted_to(ada: Person) -> None:
    client = Client()
    given = {"username": "ada", "password": ada.password, "next": "/devices"}
    assert client.post("/sign-in/", given).headers["Location"] == "/sign-in/second-factor/"
    assert not is_in(client)
    assert "Type the code" in client.get("/sign-in/second-factor/").content.decode()
    assert client.post("/sign-in/second-factor/", {"code": "000000"}).status_code == 403
    assert not is_in(client)
    assert client.post("/sign-in/second-factor/", {"code": ada.now_code()}).headers["Location"] == "/devices"
    assert is_in(client)
    assert client.get("/sign-in/second-factor/").headers["Location"] == "/sign-in/"


def test_half_way_in_lasts_minutes_and_ends_with_another_password(ada: Person) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "ada", "password": ada.password})
    ada.operator.set_password("another one, and longer")
    ada.operator.save()
    assert client.post("/sign-in/second-factor/", {"code": ada.now_code()}).headers["Location"] == "/sign-in/"
    assert not is_in(client)


def test_a_sign_in_link_and_the_rest_api_ask_for_it_too(ada: Person) -> None:
    client = Client()
    assert client.post(sign_in_path(operator=ada.operator)).headers["Location"] == "/sign-in/second-factor/"
    assert not is_in(client)
    given = {"username": "ada", "password": ada.password}
    for body, code in ((given, "accounts.code_needed"), ({**given, "code": "1"}, "accounts.wrong_code")):
        refused = client.post("/api/session/", body, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, code)
    whole = {**given, "code": ada.now_code()}
    assert client.post("/api/session/", whole, content_type="application/json").status_code == 200
    assert is_in(client)
    basic = APIClient()
    basic.credentials(HTTP_AUTHORIZATION="Basic " + b64encode(f"ada:{ada.password}".encode()).decode())
    refused = basic.post("/api/tokens/", {"name": "x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "accounts.second_factor_needed")


def test_a_role_that_needs_one_sets_it_up_before_it_is_let_in(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR = ("administrator",)
    operator, password = create_operator(username="ada")
    client = Client()
    given = {"username": "ada", "password": password}
    refused = client.post("/api/session/", given, content_type="application/json")
    assert refused.json()["code"] == "accounts.second_factor_needed"
    client.post("/sign-in/", given)
    page = client.get("/sign-in/second-factor/").content.decode()
    assert "<svg" in page
    assert "style=" not in page
    assert client.post("/sign-in/second-factor/", {"code": "000000"}).status_code == 403
    assert not is_in(client)
    done = client.post("/sign-in/second-factor/", {"code": code_of(SecondFactor.objects.get())}).content.decode()
    assert "recovery codes" in done
    assert is_in(client)
    with pytest.raises(SecondFactorRequired):
        remove_second_factor(operator=operator, code="x", now=NOW)


def test_a_session_without_it_ends_when_the_role_needs_it(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR = ("administrator",)
    create_operator(username="root")
    operator = create_operator(username="bob", role=OperatorRole.OPERATOR).operator
    client = Client()
    client.force_login(operator)
    assert is_in(client)
    change_operator(operator=operator, role=OperatorRole.ADMINISTRATOR)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    with pytest.raises(NobodyActs):
        operator_behind({"cookie": cookie})
    assert not is_in(client)


def test_it_is_set_up_and_taken_away_with_password_and_code() -> None:
    operator, password = create_operator(username="ada")
    client = APIClient()
    client.force_login(operator)
    path = "/api/session/second-factor/"
    assert client.post(path, {"password": "wrong"}).json()["code"] == "accounts.wrong_password"
    begun = client.post(path, {"password": password}).json()
    assert begun["uri"].startswith("otpauth://totp/Coterie:ada?")
    assert not client.get(path).json()["is_on"]
    codes = client.post(f"{path}confirm/", {"code": code_of(SecondFactor.objects.get())}).json()["recovery_codes"]
    assert client.get(path).json() == {
        "is_on": True,
        "passkeys": 0,
        "is_required": False,
        "recovery_codes_left": 10,
    }
    again = client.post(f"{path}recovery-codes/", {"code": codes[0]}).json()["recovery_codes"]
    assert set(again).isdisjoint(codes)
    assert client.post(f"{path}remove/", {"code": codes[1]}).status_code == 403
    assert client.post(f"{path}remove/", {"code": again[0]}).status_code == 204
    assert not client.get(path).json()["is_on"]


def test_the_list_of_people_says_who_has_one(ada: Person, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api = APIClient()
    api.force_authenticate(create_operator(username="eve").operator)
    for name in ("bob", "cyd"):
        begin_second_factor(operator=create_operator(username=name).operator, now=NOW)
    with django_assert_num_queries(5):  # how many there are, keys and rows of the page, their apps and their passkeys
        people = api.get("/api/operators/").json()["results"]
    has_one = {person["username"]: person["has_second_factor"] for person in people}
    assert {name: has_one[name] for name in ("ada", "bob", "cyd")} == {"ada": True, "bob": False, "cyd": False}
    assert "secret" not in str(people)
    api.post(f"/api/operators/{ada.operator.pk}/reset-second-factor/")
    assert api.get(f"/api/operators/{ada.operator.pk}/").json()["has_second_factor"] is False


def test_who_has_lost_everything_is_helped_from_the_machine(ada: Person) -> None:
    call_command("reset_second_factor", "ada")
    with pytest.raises(NoSecondFactor):
        check_code(operator=ada.operator, code=ada.codes[0], now=NOW)


def test_sessions_are_listed_and_ended_at_once() -> None:
    operator, password = create_operator(username="ada")
    here, there = Client(), Client(headers={"user-agent": "Elsewhere/1.0"}, REMOTE_ADDR="192.0.2.7")
    for client in (here, there):
        client.post("/sign-in/", {"username": "ada", "password": password})
        assert is_in(client)
    rows = {row["address"]: row for row in here.get("/api/browser-sessions/").json()["results"]}
    assert rows["192.0.2.7"]["browser"] == "Elsewhere/1.0"
    assert (rows["127.0.0.1"]["is_this"], rows["192.0.2.7"]["is_this"]) == (True, False)
    cookie = f"sessionid={there.cookies['sessionid'].value}"
    assert operator_behind({"cookie": cookie}).name == "ada"
    assert here.delete(f"/api/browser-sessions/{rows['192.0.2.7']['id']}/").status_code == 204
    with pytest.raises(NobodyActs):
        operator_behind({"cookie": cookie})
    assert not is_in(there)
    assert is_in(here)
    stranger = Client()
    stranger.force_login(create_operator(username="eve").operator)
    assert stranger.delete(f"/api/browser-sessions/{rows['127.0.0.1']['id']}/").status_code == 404
    here.delete("/api/session/")
    assert not BrowserSession.objects.filter(operator=operator).exists()
    assert Operator.objects.count() == 2
