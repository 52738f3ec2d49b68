"""Operators who sign in with an OpenID Connect provider: a real one on loopback, with keys and tokens of its own."""

import re
from collections.abc import Iterator

import httpx
import pytest
from django.http import HttpResponse
from django.test import Client
from rest_framework.test import APIClient

from coterie.accounts.custom_roles import CustomRoleInUse, change_custom_role, create_custom_role, remove_custom_role
from coterie.accounts.models import CustomRole, Grant, Operator, Project
from coterie.accounts.projects import RoleOfOther, create_organisation, create_project, give_role
from coterie.accounts.services import change_operator, create_operator, invite_operator
from coterie.accounts.sign_on_roles import ClaimMapped, map_claim, unmap_claim
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole

pytest.importorskip("mozilla_django_oidc", reason="needs coterie[oidc]")

from coterie.accounts.openid import answers
from coterie.accounts.provider import Provider
from tests.coterie.accounts.openid_provider import (
    ADA,
    CLIENT,
    SECRET,
    STRANGERS_KEY,
    OpenIdProvider,
    openid_provider,
)
from tests.coterie.world import START, make_device

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.coterie.accounts.single_sign_on_urls")]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: OpenIdProvider, settings) -> OpenIdProvider:
    running.reset()
    answers.cache_clear()
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


@pytest.fixture
def wards() -> Project:
    return Project.objects.get()


@pytest.fixture
def caretaker(wards: Project) -> CustomRole:
    return create_custom_role(
        organisation=wards.organisation, name="caretaker", actions=["fleet.pause_device"], now=START
    )


def refusal(browser: Client) -> tuple[int, str]:
    """Status and code of a sign-in that is refused."""
    answer = sign_in(browser)
    found = re.search(r"<code>([a-z_.]+)</code>", answer.content.decode())
    return answer.status_code, "" if found is None else found[1]


def held(username: str = "ada") -> dict[str, str]:
    grants = Grant.objects.filter(operator__username=username).select_related("custom_role")
    return {str(grant.project or grant.organisation): str(grant.custom_role or grant.role) for grant in grants}


def test_a_group_gives_a_custom_role_and_lets_do_what_is_in_it(
    provider: OpenIdProvider, wards: Project, caretaker: CustomRole
) -> None:
    map_claim(claim_value="ward-staff", role=caretaker, to=wards, now=START)
    provider.person["groups"] = ["ward-staff"]
    device = make_device("hall")
    browser = Client()
    sign_in(browser)
    assert (whoever(browser), Operator.objects.get().role, held()) == ("ada", "", {str(wards): str(caretaker)})
    assert browser.post(f"/api/devices/{device.pk}/pause/").status_code == 200
    refused = browser.post(f"/api/devices/{device.pk}/revoke/")
    assert (refused.status_code, refused.json()["code"]) == (403, "acting.role_needed")
    given = Entry.objects.get(action="accounts.give_role")
    assert (given.actor_name, given.after["by_sign_on"]) == ("single sign-on", True)


def test_roles_in_places_follow_the_groups_and_leave_what_people_gave(
    provider: OpenIdProvider, wards: Project, caretaker: CustomRole
) -> None:
    beds = create_project(organisation=wards.organisation, name="Beds", now=START)
    map_claim(claim_value="ward-staff", role=caretaker, to=wards, now=START)
    map_claim(claim_value="night", role=OperatorRole.OPERATOR, to=wards.organisation, now=START)
    provider.person["groups"] = ["ward-staff", "night"]
    sign_in(Client())
    give_role(operator=Operator.objects.get(), role=OperatorRole.VIEWER, to=beds, now=START)
    everywhere = {str(wards): str(caretaker), str(wards.organisation): "operator", str(beds): "viewer"}
    sign_in(Client())
    assert held() == everywhere
    provider.person["groups"] = ["staff"]
    sign_in(Client())
    assert (held(), Operator.objects.get().role) == ({str(beds): "viewer"}, "operator")
    provider.person["groups"] = []
    assert refusal(Client()) == (403, "accounts.no_role")


def test_of_two_roles_in_a_place_the_wider_holds_and_neither_is_refused(
    provider: OpenIdProvider, wards: Project, caretaker: CustomRole
) -> None:
    night = create_custom_role(
        organisation=wards.organisation, name="night", actions=["fleet.revoke_device"], now=START
    )
    for value, role in (("ward-staff", caretaker), ("guests", OperatorRole.VIEWER), ("night", night)):
        map_claim(claim_value=value, role=role, to=wards, now=START)
    provider.person["groups"] = ["guests", "ward-staff"]
    sign_in(Client())
    assert held() == {str(wards): str(caretaker)}
    provider.person["groups"] = ["night", "ward-staff"]
    assert refusal(Client()) == (409, "accounts.roles_at_odds")
    assert held() == {str(wards): str(caretaker)}
    both = ("fleet.pause_device", "fleet.revoke_device")
    change_custom_role(role=night, actions=both)
    sign_in(Client())
    assert held() == {str(wards): str(night)}


def test_a_mapping_that_cannot_hold_is_refused(wards: Project, caretaker: CustomRole) -> None:
    elsewhere = create_project(organisation=create_organisation(name="Other", now=START), name="other", now=START)
    with pytest.raises(RoleOfOther):
        map_claim(claim_value="ward-staff", role=caretaker, to=elsewhere, now=START)
    mapped = map_claim(claim_value="ward-staff", role=caretaker, to=wards, now=START)
    with pytest.raises(ClaimMapped, match="already gives a role in"):
        map_claim(claim_value="ward-staff", role=OperatorRole.VIEWER, to=wards, now=START)
    with pytest.raises(CustomRoleInUse, match="single sign-on gives it"):
        remove_custom_role(role=caretaker)
    unmap_claim(mapped=mapped)
    remove_custom_role(role=caretaker)


def test_mappings_are_for_administrators_of_the_installation(
    api: APIClient, wards: Project, caretaker: CustomRole
) -> None:
    body = {"claim_value": "ward-staff", "custom_role": caretaker.pk, "project": wards.pk}
    made = api.post("/api/sign-on-roles/", body)
    assert (made.status_code, made.json()["custom_role_name"], made.json()["role"]) == (201, "caretaker", "viewer")
    assert api.post("/api/sign-on-roles/", {**body, "role": "viewer"}).status_code == 400
    assert api.post("/api/sign-on-roles/", body).json()["code"] == "accounts.claim_mapped"
    boss = create_operator(username="boss", role=None).operator
    give_role(operator=boss, role=OperatorRole.ADMINISTRATOR, to=wards.organisation, now=START)
    theirs = APIClient()
    theirs.force_login(boss)
    assert theirs.get("/api/sign-on-roles/").json()["count"] == 1
    refused = theirs.post("/api/sign-on-roles/", {**body, "claim_value": "*"})
    assert (refused.status_code, refused.json()["code"]) == (403, "acting.installation_role_needed")
    assert api.delete(f"/api/sign-on-roles/{made.json()['id']}/").status_code == 204


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
