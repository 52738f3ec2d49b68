"""A passkey signs in by itself or after a password; nothing but a fresh answer of its own, given once, is taken."""

import json
from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import timezone
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.accounts.models import Operator, Passkey, PasskeyChallenge, SecondFactor
from coterie.accounts.passkey_challenges import LASTS, PasskeyChallengeOver
from coterie.accounts.passkeys import (
    PasskeyAnswer,
    PasskeyCopied,
    PasskeyExists,
    PasskeyRefused,
    PasskeyUnknown,
    add_passkey,
    ask_passkey,
    begin_passkey,
    check_passkey,
    remove_passkey,
)
from coterie.accounts.relying_party import PasskeysUnavailable, RelyingParty, relying_party_of
from coterie.accounts.second_factor import SecondFactorRequired, begin_second_factor, confirm_second_factor
from coterie.accounts.services import change_operator, create_operator, issue_token
from coterie.accounts.tasks import tidy
from coterie.audit.models import Entry
from tests.coterie.accounts.authenticator import code_of
from tests.coterie.accounts.passkey_device import PasskeyDevice, text

pytestmark = pytest.mark.django_db
NOW = timezone.now()
HERE = RelyingParty("fleet.example", "https://fleet.example")


@pytest.fixture(autouse=True)
def public_url(settings: Settings) -> None:
    settings.PUBLIC_URL = HERE.origin


class Person:
    """An operator who has a passkey."""

    def __init__(self, name: str = "ada", device: PasskeyDevice | None = None) -> None:
        self.operator, self.password = create_operator(username=name)
        self.device = device or PasskeyDevice()
        self.passkey, self.codes = self.register("laptop", self.device)

    def register(self, name: str, device: PasskeyDevice) -> Any:
        made = device.make(begin_passkey(operator=self.operator, party=HERE, now=NOW))
        return add_passkey(operator=self.operator, name=name, answer=PasskeyAnswer(made, HERE), now=NOW)

    def prove(self) -> PasskeyAnswer:
        return PasskeyAnswer(self.device.sign(ask_passkey(operator=self.operator, party=HERE, now=NOW)), HERE)

    def come(self) -> PasskeyAnswer:
        return PasskeyAnswer(self.device.sign(ask_passkey(operator=None, party=HERE, now=NOW)), HERE)


@pytest.fixture
def ada() -> Person:
    return Person()


def is_in(client: Client) -> bool:
    return client.get("/api/session/").json()["operator"] is not None


def asked(client: Client, address: str = "/sign-in/passkey/") -> dict[str, Any]:
    answer = client.post(address)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_one_signs_in_by_a_passkey_alone_and_goes_where_one_wanted_to(ada: Person, settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR = ("administrator",)
    client = Client(REMOTE_ADDR="192.0.2.7")
    assert 'id="passkey"' in client.get("/sign-in/").content.decode()
    answer = json.dumps(ada.device.sign(asked(client)))
    came = client.post("/sign-in/", {"answer": answer, "next": "/devices"})
    assert (came.status_code, came.headers["Location"]) == (302, "/devices")
    assert is_in(client), "it counts as both factors"
    used = client.get("/api/session/passkeys/").json()["results"]
    assert [(row["name"], row["last_used_at"] is not None) for row in used] == [("laptop", True)]
    entry = Entry.objects.latest("pk")
    assert (entry.action, entry.actor_name, entry.address) == ("accounts.sign_in", "ada", "192.0.2.7")


def test_an_answer_is_good_in_the_browser_that_was_asked(ada: Person) -> None:
    here, elsewhere = Client(), Client()
    answer = json.dumps(ada.device.sign(asked(here)))
    asked(elsewhere)
    refused = elsewhere.post("/sign-in/", {"answer": answer})
    assert refused.status_code == 403
    assert "too late" in refused.content.decode()
    assert not is_in(elsewhere)
    assert here.post("/sign-in/", {"answer": answer}).status_code == 302


def test_after_a_password_a_passkey_is_the_second_factor(ada: Person) -> None:
    client = Client()
    given = {"username": "ada", "password": ada.password, "next": "/devices"}
    assert client.post("/sign-in/", given).headers["Location"] == "/sign-in/second-factor/"
    assert not is_in(client)
    page = client.get("/sign-in/second-factor/").content.decode()
    assert 'data-ask="/sign-in/second-factor/passkey/"' in page
    assert "authenticator app" not in page
    options = asked(client, "/sign-in/second-factor/passkey/")
    assert len(options["allowCredentials"]) == 1
    came = client.post("/sign-in/second-factor/", {"answer": json.dumps(ada.device.sign(options))})
    assert came.headers["Location"] == "/devices"
    assert is_in(client)
    assert client.post("/sign-in/second-factor/passkey/").json()["code"] == "accounts.passkey_challenge_over"


def test_nobody_comes_in_with_the_password_alone_by_any_door(ada: Person) -> None:
    client = Client()
    given = {"username": "ada", "password": ada.password}
    refused = client.post("/api/session/", given, content_type="application/json")
    assert refused.json()["code"] == "accounts.code_needed"
    basic = APIClient()
    basic.credentials(HTTP_AUTHORIZATION="Basic " + b64encode(f"ada:{ada.password}".encode()).decode())
    assert basic.post("/api/tokens/", {"name": "x"}).json()["code"] == "accounts.second_factor_needed"
    with_code = {**given, "code": ada.codes[0]}
    assert client.post("/api/session/", with_code, content_type="application/json").status_code == 200
    assert is_in(client), "a recovery code stands for a passkey that was lost"


def test_anothers_passkey_is_no_second_factor(ada: Person) -> None:
    other = PasskeyDevice()
    other.id = b"another device"
    bob = Person("bob", other)
    options = ask_passkey(operator=ada.operator, party=HERE, now=NOW)
    with pytest.raises(PasskeyUnknown):
        check_passkey(answer=PasskeyAnswer(bob.device.sign(options), HERE), operator=ada.operator, now=NOW)
    ada.device.handle = bob.device.handle
    with pytest.raises(PasskeyRefused):
        check_passkey(answer=ada.come(), operator=None, now=NOW)


def test_a_challenge_is_answered_once_for_what_it_was_made_for_and_for_minutes(ada: Person) -> None:
    answer = ada.come()
    assert check_passkey(answer=answer, operator=None, now=NOW) == ada.operator
    for late, answered, operator in (
        (timedelta(), answer, None),
        (timedelta(), ada.prove(), None),
        (timedelta(), ada.come(), ada.operator),
        (LASTS, ada.come(), None),
        (-timedelta(seconds=1), ada.come(), None),
    ):
        with pytest.raises(PasskeyChallengeOver):
            check_passkey(answer=answered, operator=operator, now=NOW + late)
    refused = PasskeyAnswer(
        ada.device.sign(options := ask_passkey(operator=None, party=HERE, now=NOW), origin="x"), HERE
    )
    with pytest.raises(PasskeyRefused):
        check_passkey(answer=refused, operator=None, now=NOW)
    with pytest.raises(PasskeyChallengeOver):
        check_passkey(answer=PasskeyAnswer(ada.device.sign(options), HERE), operator=None, now=NOW)


def test_challenges_that_nobody_answered_are_forgotten(ada: Person) -> None:
    ask_passkey(operator=None, party=HERE, now=NOW - timedelta(hours=1))
    ask_passkey(operator=None, party=HERE, now=timezone.now())
    tidy()
    assert PasskeyChallenge.objects.count() == 1


@pytest.mark.parametrize(
    "said",
    [
        {"origin": "https://fleet.example.evil"},
        {"origin": "http://fleet.example"},
        {"type": "webauthn.create"},
        {"crossOrigin": True},
    ],
    ids=str,
)
def test_what_was_signed_for_somebody_else_is_refused(ada: Person, said: dict[str, object]) -> None:
    given = ada.device.sign(ask_passkey(operator=None, party=HERE, now=NOW), **said)
    with pytest.raises(PasskeyRefused):
        check_passkey(answer=PasskeyAnswer(given, HERE), operator=None, now=NOW)


def test_a_device_that_has_not_checked_its_person_is_refused(ada: Person) -> None:
    ada.device.verifies = False
    with pytest.raises(PasskeyRefused):
        check_passkey(answer=ada.come(), operator=None, now=NOW)
    with pytest.raises(PasskeyRefused):
        ada.register("key", PasskeyDevice(verifies=False))


def test_another_key_is_refused_and_so_is_another_name_of_the_platform(ada: Person) -> None:
    thief = PasskeyDevice()
    thief.handle = ada.device.handle
    with pytest.raises(PasskeyRefused):
        check_passkey(
            answer=PasskeyAnswer(thief.sign(ask_passkey(operator=None, party=HERE, now=NOW)), HERE),
            operator=None,
            now=NOW,
        )
    there = RelyingParty("other.example", HERE.origin)
    given = ada.device.sign(ask_passkey(operator=None, party=there, now=NOW))
    with pytest.raises(PasskeyRefused):
        check_passkey(answer=PasskeyAnswer(given, HERE), operator=None, now=NOW)


def test_a_counter_that_goes_back_is_refused_and_recorded(ada: Person) -> None:
    ada.device.signatures = 6
    check_passkey(answer=ada.come(), operator=None, now=NOW)
    ada.device.signatures = 4
    client = Client(REMOTE_ADDR="192.0.2.7")
    refused = client.post("/sign-in/", {"answer": json.dumps(ada.device.sign(asked(client)))})
    assert refused.status_code == 403
    assert "as that of a copy does" in refused.content.decode()
    assert not is_in(client)
    entry = Entry.objects.latest("pk")
    assert (entry.action, entry.actor_kind, entry.address) == ("accounts.refuse_passkey", "nobody", "192.0.2.7")
    assert (entry.before, entry.after) == ({"sign_count": 7}, {"sign_count": 5})
    ada.device.signatures = 6
    with pytest.raises(PasskeyCopied):
        check_passkey(answer=ada.come(), operator=None, now=NOW)


def test_who_does_not_know_the_key_cannot_have_a_copy_recorded(ada: Person) -> None:
    check_passkey(answer=ada.come(), operator=None, now=NOW)
    thief = PasskeyDevice(counts=False)
    thief.handle = ada.device.handle
    with pytest.raises(PasskeyRefused):
        check_passkey(
            answer=PasskeyAnswer(thief.sign(ask_passkey(operator=None, party=HERE, now=NOW)), HERE),
            operator=None,
            now=NOW,
        )
    assert not Entry.objects.filter(action="accounts.refuse_passkey").exists()


def test_a_passkey_that_counts_nothing_signs_in_again_and_again() -> None:
    ada = Person(device=PasskeyDevice(counts=False))
    for _ in range(2):
        check_passkey(answer=ada.come(), operator=None, now=NOW)


def test_who_was_shut_out_is_not_let_in(ada: Person) -> None:
    create_operator(username="root")
    answer = ada.come()
    change_operator(operator=ada.operator, is_active=False)
    with pytest.raises(PasskeyUnknown):
        check_passkey(answer=answer, operator=None, now=NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["id", "rawId", "type", "clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]


@example(field="clientDataJSON", other=text(b"[" * 10_000))
@given(field=st.sampled_from(FIELDS), other=JSON | st.binary(max_size=200).map(lambda raw: raw.hex()))
def test_whatever_is_in_an_answer_it_is_refused_and_nothing_breaks(field: str, other: object) -> None:
    Operator.objects.filter(username="ada").delete()
    ada = Person()
    other_device = PasskeyDevice()
    other_device.id = b"another device"
    signed = ada.device.sign(ask_passkey(operator=None, party=HERE, now=NOW))
    made = other_device.make(begin_passkey(operator=ada.operator, party=HERE, now=NOW))
    for answer in (signed, made):
        if field not in answer and field not in answer["response"]:
            continue
        where = answer if field in answer else answer["response"]
        if where[field] == other:
            return
        where[field] = other
    refusals = (PasskeyRefused, PasskeyChallengeOver, PasskeyUnknown)
    if field != "attestationObject":
        with pytest.raises(refusals):
            check_passkey(answer=PasskeyAnswer(signed, HERE), operator=None, now=NOW)
    if field not in ("authenticatorData", "signature", "userHandle"):
        with pytest.raises(refusals):
            add_passkey(operator=ada.operator, name="phone", answer=PasskeyAnswer(made, HERE), now=NOW)


@pytest.mark.parametrize("cose", [1.5, {}, {1: 2}, {1: 2, 3: -7, -1: 1}, {1: 2, 3: -65535}], ids=str)
def test_a_key_that_is_none_is_refused(ada: Person, cose: object) -> None:
    broken = PasskeyDevice()
    broken.cose = cose
    with pytest.raises(PasskeyRefused):
        ada.register("broken", broken)


def test_several_are_registered_under_names_of_their_own(ada: Person) -> None:
    options = begin_passkey(operator=ada.operator, party=HERE, now=NOW)
    assert [known["type"] for known in options["excludeCredentials"]] == ["public-key"]  # type: ignore[attr-defined]
    key = PasskeyDevice()
    key.id = b"a key for the pocket"
    with pytest.raises(PasskeyExists):
        ada.register("laptop", key)
    assert list(ada.register("key", key).recovery_codes) == [], "those of the first go on"
    assert key.handle == ada.device.handle, "a device has one passkey of a person here"
    with pytest.raises(PasskeyExists):
        ada.register("again", key)
    assert [passkey.name for passkey in ada.operator.passkeys.all()] == ["key", "laptop"]


def test_it_is_registered_with_the_password_and_removed_with_proof_of_who_one_is() -> None:
    operator, password = create_operator(username="ada")
    client, device, path = APIClient(), PasskeyDevice(), "/api/session/passkeys/"
    client.force_login(operator)
    assert client.post(f"{path}begin/", {"password": "wrong"}).json()["code"] == "accounts.wrong_password"
    options = client.post(f"{path}begin/", {"password": password}).json()["public_key"]
    assert (options["rp"]["id"], options["attestation"]) == ("fleet.example", "none")
    chosen = options["authenticatorSelection"]
    assert (chosen["residentKey"], chosen["userVerification"]) == ("required", "required")
    added = client.post(path, {"name": "laptop", "answer": device.make(options)}, format="json")
    assert (added.status_code, len(added.json()["recovery_codes"])) == (201, 10)
    again = client.post(path, {"name": "again", "answer": device.make(options)}, format="json")
    assert (again.status_code, again.json()["code"]) == (410, "accounts.passkey_challenge_over")
    standing = client.get("/api/session/second-factor/").json()
    assert standing == {"is_on": False, "passkeys": 1, "is_required": False, "recovery_codes_left": 10}
    assert client.get(f"/api/operators/{operator.pk}/").json()["has_second_factor"]
    here = f"{path}{added.json()['id']}/remove/"
    assert client.post(here, {"code": "x"}).json()["code"] == "accounts.wrong_code"
    asked = client.post(f"{path}ask/").json()["public_key"]
    assert client.post(here, {"answer": device.sign(asked)}, format="json").status_code == 204
    assert client.get("/api/session/second-factor/").json()["recovery_codes_left"] == 0
    actions = Entry.objects.filter(action__endswith="_passkey").order_by("pk").values_list("action", "subject_name")
    assert list(actions) == [
        ("accounts.add_passkey", "passkey laptop of ada"),
        ("accounts.remove_passkey", "passkey laptop of ada"),
    ]


def test_the_last_second_factor_stays_where_a_role_needs_one(ada: Person, settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR = ("administrator",)
    with pytest.raises(SecondFactorRequired):
        remove_passkey(passkey=ada.passkey, code="", answer=ada.prove(), now=NOW)
    begin_second_factor(operator=ada.operator, now=NOW)
    confirm_second_factor(operator=ada.operator, code=code_of(SecondFactor.objects.get(), at=NOW), now=NOW)
    remove_passkey(passkey=ada.passkey, code="", answer=ada.prove(), now=NOW)
    assert ada.operator.recovery_codes.count() == 10, "the app goes on"


def test_an_administrator_or_a_shell_takes_lost_passkeys_away(ada: Person) -> None:
    call_command("reset_second_factor", "ada")
    assert not Passkey.objects.exists()
    assert not ada.operator.recovery_codes.exists()


def test_an_api_token_registers_none(ada: Person) -> None:
    secret = issue_token(operator=ada.operator, name="ci", now=NOW).secret
    program = APIClient(headers={"authorization": f"Bearer {secret}"})
    for path, body in (("begin/", {"password": ada.password}), ("", {"name": "x", "answer": {}})):
        refused = program.post(f"/api/session/passkeys/{path}", body, format="json")
        assert (refused.status_code, refused.json()["code"]) == (403, "accounts.browser_needed")


def test_nobody_sees_or_removes_those_of_others(ada: Person) -> None:
    stranger = APIClient()
    stranger.force_login(create_operator(username="eve").operator)
    assert stranger.get("/api/session/passkeys/").json()["count"] == 0
    assert stranger.post(f"/api/session/passkeys/{ada.passkey.pk}/remove/", {"code": ada.codes[0]}).status_code == 404


@pytest.mark.parametrize(
    ("public", "asked", "party"),
    [
        ("https://Fleet.example:443", "fleet.example", RelyingParty("fleet.example", "https://fleet.example")),
        ("https://fleet.example:8443", "x", RelyingParty("fleet.example", "https://fleet.example:8443")),
        ("http://localhost:8000", "x", RelyingParty("localhost", "http://localhost:8000")),
        ("", "localhost:8000", RelyingParty("localhost", "http://localhost:8000")),
        ("", "localhost", RelyingParty("localhost", "http://localhost")),
        ("", "fleet.example", None),
        ("", "127.0.0.1:8000", None),
        ("http://fleet.example", "fleet.example", None),
        ("https://192.0.2.7", "192.0.2.7", None),
        ("https://[2001:db8::7]", "x", None),
    ],
)
def test_the_relying_party_follows_the_public_url(
    settings: Settings, public: str, asked: str, party: RelyingParty | None
) -> None:
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = public, ["*"]
    request = RequestFactory().get("/", headers={"host": asked})
    if party is not None:
        assert relying_party_of(request) == party
        return
    with pytest.raises(PasskeysUnavailable):
        relying_party_of(request)


def test_a_page_without_a_relying_party_offers_no_passkeys(settings: Settings) -> None:
    settings.PUBLIC_URL = ""
    client = Client()
    assert 'id="passkey"' not in client.get("/sign-in/").content.decode()
    refused = client.post("/sign-in/passkey/")
    assert (refused.status_code, refused.json()["code"]) == (409, "accounts.passkeys_unavailable")
