"""Operators who sign in with an OpenID Connect provider: a real one on loopback, with keys and tokens of its own."""

from collections.abc import Iterator

import httpx
import pytest
from django.http import HttpResponse
from django.test import Client

from coterie.accounts.models import Operator
from coterie.accounts.services import change_operator, create_operator, invite_operator
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole

pytest.importorskip("mozilla_django_oidc", reason="needs coterie[oidc]")

from coterie.accounts.openid import _answers
from coterie.accounts.provider import Provider
from tests.coterie.accounts.openid_provider import (
    ADA,
    CLIENT,
    SECRET,
    STRANGERS_KEY,
    OpenIdProvider,
    openid_provider,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.coterie.accounts.single_sign_on_urls")]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: OpenIdProvider, settings) -> OpenIdProvider:
    running.reset()
    _answers.cache_clear()
    settings.SINGLE_SIGN_ON = Provider(
        issuer=running.issuer,
        client_id=CLIENT,
        client_secret=SECRET,
        label="Sign in with Example",
        role_claim="groups",
        groups=(
            (OperatorRole.ADMINISTRATOR, ("admins",)),
            (OperatorRole.OPERATOR, ("staff", "ops")),
            (OperatorRole.VIEWER, ()),
        ),
    )
    settings.AUTHENTICATION_BACKENDS = ["coterie.accounts.openid.OpenIdBackend", *settings.AUTHENTICATION_BACKENDS]
    return running


def sign_in(browser: Client, begin: str = "/single-sign-on/") -> HttpResponse:
    """Go to the provider, who knows the person, and come back."""
    asked = browser.get(begin)
    assert asked.status_code == 302
    sent_back = httpx.get(asked["Location"]).headers["Location"]
    return browser.get(sent_back.removeprefix("http://testserver"))


def whoever(browser: Client) -> str | None:
    operator = browser.get("/api/session/").json()["operator"]
    return None if operator is None else operator["username"]


def test_a_person_is_let_in_with_the_role_of_the_group(provider: OpenIdProvider) -> None:
    browser = Client()
    answer = sign_in(browser, "/single-sign-on/?next=/devices%3Fq%3Dhall")
    assert (answer.status_code, answer["Location"]) == (302, "/devices?q=hall")
    assert whoever(browser) == "ada"
    ada = Operator.objects.get()
    assert (ada.role, ada.email, ada.has_usable_password()) == ("operator", "ada@example.org", False)
    entries = [(entry.action, entry.actor_name) for entry in Entry.objects.order_by("pk")]
    assert entries == [("accounts.create_operator", "single sign-on"), ("accounts.sign_in", "ada")]


def test_the_role_follows_the_groups_and_the_person_the_subject(provider: OpenIdProvider) -> None:
    create_operator(username="root", role=OperatorRole.ADMINISTRATOR)
    sign_in(Client())
    provider.person |= {"groups": ["staff", "admins"], "preferred_username": "countess", "email": "other@example.org"}
    browser = Client()
    sign_in(browser)
    assert whoever(browser) == "ada"
    assert Operator.objects.get(username="ada").role == "administrator"
    change = Entry.objects.get(action="accounts.change_operator")
    assert (change.actor_name, change.before, change.after) == (
        "single sign-on",
        {"role": "operator"},
        {"role": "administrator"},
    )


def test_an_account_is_joined_by_its_verified_address_alone(provider: OpenIdProvider) -> None:
    invite_operator(username="lovelace", role=OperatorRole.VIEWER, email="Ada@example.org")
    provider.person |= {"email_verified": False, "preferred_username": "lovelace"}
    refused = sign_in(Client())
    assert (refused.status_code, b"accounts.sign_on_name_taken" in refused.content) == (409, True)
    provider.person["email_verified"] = True
    browser = Client()
    sign_in(browser)
    assert whoever(browser) == "lovelace"
    assert Operator.objects.count() == 1


def test_who_is_shut_out_stays_out_and_loses_the_session(provider: OpenIdProvider) -> None:
    browser = Client()
    sign_in(browser)
    change_operator(operator=Operator.objects.get(), is_active=False)
    assert whoever(browser) is None
    assert b"accounts.shut_out" in sign_in(browser).content


@pytest.mark.parametrize(
    ("token", "person", "code"),
    [
        ({"iss": "https://elsewhere.example"}, {}, "accounts.sign_on_refused"),
        ({"aud": "another"}, {}, "accounts.sign_on_refused"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, {}, "accounts.sign_on_refused"),
        ({"exp": 1}, {}, "accounts.sign_on_refused"),
        ({"nonce": "replayed"}, {}, "accounts.sign_on_refused"),
        ({"sub": "somebody-else"}, {}, "accounts.sign_on_refused"),
        ({}, {"preferred_username": None, "email": None}, "accounts.sign_on_refused"),
        ({}, {"groups": ["guests"]}, "accounts.no_role"),
        ({}, {"groups": {"admins": True}}, "accounts.no_role"),
    ],
)
def test_what_does_not_hold_is_refused_with_a_code(
    provider: OpenIdProvider, token: dict[str, object], person: dict[str, object], code: str
) -> None:
    provider.token, provider.person = token, {**provider.person, **person}
    browser = Client()
    answer = sign_in(browser)
    assert (answer.status_code, code in answer.content.decode()) == (403, True)
    assert whoever(browser) is None
    assert not Operator.objects.exists()


def test_a_token_of_a_strangers_key_is_refused(provider: OpenIdProvider) -> None:
    provider.key = STRANGERS_KEY
    assert b"cannot be verified" in sign_in(Client()).content


def test_an_answer_serves_the_browser_that_asked_and_once(provider: OpenIdProvider) -> None:
    browser = Client()
    sent_back = httpx.get(browser.get("/single-sign-on/")["Location"]).headers["Location"]
    path = sent_back.removeprefix("http://testserver")
    stranger = Client().get(path)
    assert (stranger.status_code, b"accounts.sign_on_stale" in stranger.content) == (410, True)
    assert browser.get(path).status_code == 302
    assert browser.get(path).status_code == 410
    assert b"access_denied" in browser.get("/single-sign-on/answer/?error=access_denied&state=x").content


def test_a_provider_that_is_down_says_so_and_passwords_go_on(provider: OpenIdProvider) -> None:
    provider.down = {"/.well-known/openid-configuration"}
    answer = Client().get("/single-sign-on/")
    assert (answer.status_code, b"accounts.provider_unavailable" in answer.content) == (503, True)
    root = create_operator(username="root")
    assert Client().login(username="root", password=root.password)
    provider.down = set()
    browser = Client()
    url = browser.get("/single-sign-on/")["Location"]
    provider.down = {"/token"}
    answer = browser.get(httpx.get(url).headers["Location"].removeprefix("http://testserver"))
    assert answer.status_code == 503


def test_the_sign_in_page_shows_the_provider(provider: OpenIdProvider) -> None:
    page = Client().get("/sign-in/?next=/devices").content.decode()
    assert '<a href="/single-sign-on/?next=%2Fdevices">Sign in with Example</a>' in page
    assert ADA["preferred_username"] not in page


def test_everybody_may_be_let_in_and_claims_may_be_a_text() -> None:
    groups = ((OperatorRole.ADMINISTRATOR, ("admins",)), (OperatorRole.VIEWER, ("*",)))
    provider = Provider("https://x", CLIENT, SECRET, "", "groups", groups)
    roles = [provider.role_of({"groups": told}) for told in ("admins", ["staff"], None)]
    assert roles == [OperatorRole.ADMINISTRATOR, OperatorRole.VIEWER, OperatorRole.VIEWER]
    assert SECRET not in repr(provider)
