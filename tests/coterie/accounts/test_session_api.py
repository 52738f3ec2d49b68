"""A browser signs in, learns what it may do, and signs out; people are let in and shut out."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.accounts.services import create_operator, sign_in_path
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole

pytestmark = pytest.mark.django_db


RACERS = 6


class Browser(APIClient):
    """Keeps cookies and repeats the one against forgery, as the console does."""

    def __init__(self) -> None:
        super().__init__(enforce_csrf_checks=True)
        self.get("/api/session/")
        self.take_token()

    def take_token(self) -> None:
        self.credentials(HTTP_X_CSRFTOKEN=self.cookies["csrftoken"].value)

    def sign_in(self, name: str, password: str) -> int:
        answer = self.post("/api/session/", {"username": name, "password": password})
        self.take_token()
        return int(answer.status_code)


def test_signs_in_and_out() -> None:
    _, password = create_operator(username="ada")
    browser = Browser()
    assert browser.get("/api/session/").json()["operator"] is None
    assert browser.sign_in("ada", "guessed") == 403
    failed = Entry.objects.get(action="accounts.fail_sign_in")
    assert (failed.actor_kind, failed.subject_name, failed.address) == ("nobody", "ada", "127.0.0.1")
    assert browser.sign_in("ada", password) == 200
    told = browser.get("/api/session/").json()
    assert (told["operator"]["username"], told["operator"]["role"]) == ("ada", "administrator")
    assert all(may["allowed"] for may in told["may"])
    assert browser.delete("/api/session/").status_code == 204
    assert browser.get("/api/session/").json()["operator"] is None
    actions = list(Entry.objects.order_by("id").values_list("action", "actor_name"))
    assert actions[-2:] == [("accounts.sign_in", "ada"), ("accounts.sign_out", "ada")]


def test_who_has_no_role_is_told_so_and_may_leave() -> None:
    _, password = create_operator(username="nobody-yet", role=None)
    browser = Browser()
    assert browser.sign_in("nobody-yet", password) == 200
    told = browser.get("/api/session/").json()
    assert (told["operator"]["username"], told["project"], told["all_projects"]) == ("nobody-yet", None, False)
    assert {may["code"] for may in told["may"]} == {"acting.no_project"}
    assert browser.get("/api/devices/").json()["code"] == "acting.no_project"
    assert browser.delete("/api/session/").status_code == 204


def test_what_is_typed_as_an_unknown_name_is_written_down_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    before = Entry.objects.count()
    assert Browser().sign_in("correct horse battery staple", "ada") == 403
    assert Entry.objects.count() == before
    assert "no operator has that name" in caplog.text
    assert "horse" not in caplog.text


def test_a_forged_request_is_refused() -> None:
    _, password = create_operator(username="ada")
    body = {"username": "ada", "password": password}
    answer = APIClient(enforce_csrf_checks=True).post("/api/session/", body)
    assert (answer.status_code, answer.json()["code"]) == (403, "rest.forbidden")
    browser = Browser()
    browser.sign_in("ada", password)
    browser.credentials()
    assert browser.post("/api/operators/", {"username": "bob"}).status_code == 403
    assert not Operator.objects.filter(username="bob").exists()


def test_a_viewer_is_told_what_he_may_not_and_why() -> None:
    _, password = create_operator(username="eve", role=OperatorRole.VIEWER)
    browser = Browser()
    browser.sign_in("eve", password)
    may = {line["action"]: line for line in browser.get("/api/session/").json()["may"]}
    assert may["accounts.change_password"]["allowed"]
    refused = may["fleet.revoke_device"]
    assert (refused["allowed"], refused["code"]) == (False, "acting.role_needed")
    assert browser.post("/api/operators/", {"username": "bob"}).json()["detail"] == refused["sentence"].replace(
        "operator;", "administrator;"
    )


def test_a_new_password_ends_the_other_sessions() -> None:
    _, password = create_operator(username="ada")
    here, elsewhere = Browser(), Browser()
    for browser in (here, elsewhere):
        browser.sign_in("ada", password)
    change = {"current": password, "new": "correct horse battery"}
    assert here.post("/api/session/password/", {**change, "current": "guessed"}).status_code == 403
    weak = here.post("/api/session/password/", {**change, "new": "short"})
    assert (weak.status_code, weak.json()["code"]) == (422, "accounts.weak_password")
    assert here.post("/api/session/password/", change).status_code == 204
    assert here.get("/api/session/").json()["operator"]["username"] == "ada"
    assert elsewhere.get("/api/session/").json()["operator"] is None


def test_lets_a_person_in_and_shuts_him_out(api: APIClient) -> None:
    made = api.post("/api/operators/", {"username": "bob", "role": "operator", "email": "bob@example.org"}).json()
    guest = APIClient()
    assert guest.post(made["sign_in_path"]).status_code == 302
    assert guest.get("/api/devices/").status_code == 200
    assert api.patch(f"/api/operators/{made['id']}/", {"is_active": False}).json()["is_active"] is False
    assert guest.get("/api/devices/").status_code == 401
    assert [bob["username"] for bob in api.get("/api/operators/?search=BOB@&is_active=false").json()["results"]] == [
        "bob"
    ]


def test_who_has_forgotten_the_password_chooses_another_by_a_link(api: APIClient) -> None:
    bob, _ = create_operator(username="bob")
    path = api.post(f"/api/operators/{bob.pk}/sign-in-link/").json()["sign_in_path"]
    browser = Browser()
    page = browser.get(f"{path}?next=/settings%3Ftab%3Dpassword").content.decode()
    assert 'name="next" value="/settings?tab=password"' in page
    assert "Sign in as bob" in page
    browser.take_token()
    arrived = browser.post(path, {"next": "/settings?tab=password"}, format="multipart")
    assert arrived.headers["Location"] == "/settings?tab=password"
    browser.take_token()
    assert browser.post("/api/session/password/", {"new": "correct horse battery"}).status_code == 204
    again = browser.post("/api/session/password/", {"new": "another horse battery"})
    assert (again.status_code, again.json()["code"]) == (403, "accounts.wrong_password")


def test_a_sign_in_link_leads_to_no_other_site(api: APIClient) -> None:
    path = api.post("/api/operators/", {"username": "bob", "role": "viewer"}).json()["sign_in_path"]
    body = {"next": "https://elsewhere.example/"}
    assert APIClient().post(path, body, format="multipart").headers["Location"] == "/"


def test_only_the_button_spends_a_sign_in_link(api: APIClient) -> None:
    path = api.post("/api/operators/", {"username": "bob", "role": "viewer"}).json()["sign_in_path"]
    guest = APIClient()
    assert [guest.head(path).status_code, guest.get(path).status_code, guest.get(path).status_code] == [200] * 3
    assert guest.get("/api/devices/").status_code == 401
    assert guest.post(path).status_code == 302
    assert guest.get("/api/devices/").status_code == 200
    assert [APIClient().get(path).status_code, APIClient().post(path).status_code] == [410, 410]


@pytest.mark.django_db(transaction=True)
def test_many_who_use_a_link_at_once_get_one_session() -> None:
    bob, _ = create_operator(username="bob")
    bob.last_login = timezone.now()  # within the second of another sign-in, too
    bob.save(update_fields=["last_login"])
    path = sign_in_path(operator=bob)
    together = Barrier(RACERS)

    def use(_: int) -> int:
        together.wait()
        try:
            return Client().post(path).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(RACERS) as pool:
        answers = sorted(pool.map(use, range(RACERS)))
    assert answers == [302, *[410] * (RACERS - 1)]


def test_the_last_administrator_stays_one(api: APIClient) -> None:
    (ada,) = api.get("/api/operators/").json()["results"]
    for change in ({"role": "viewer"}, {"is_active": False}):
        answer = api.patch(f"/api/operators/{ada['id']}/", change)
        assert (answer.status_code, answer.json()["code"]) == (409, "accounts.last_administrator")
    create_operator(username="bob")
    assert api.patch(f"/api/operators/{ada['id']}/", {"role": "viewer"}).json()["role"] == "viewer"


def test_a_token_reads_only_where_its_scope_says_so(api: APIClient) -> None:
    secrets = {
        scope: api.post("/api/tokens/", {"name": scope, "scopes": [scope]}).json()["secret"]
        for scope in ("read", "fleet")
    }
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {secrets['read']}")
    assert program.get("/api/devices/").status_code == 200
    body = {"label": "x", "expires_at": "2030-01-01T00:00Z"}
    refused = program.post("/api/enrolment-tokens/", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "acting.scope_needed")
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {secrets['fleet']}")
    assert program.get("/api/devices/").status_code == 403
    assert program.post("/api/enrolment-tokens/", body).status_code == 201
    assert Entry.objects.filter(action="fleet.create_enrolment_token", token="fleet", actor_name="ada").exists()
