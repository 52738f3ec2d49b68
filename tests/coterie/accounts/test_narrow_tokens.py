"""No credential makes one that may do more than itself, or for longer."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.models import ApiToken, Operator
from coterie.accounts.services import create_operator, issue_token
from coterie.core.acting import OperatorRole, Scope
from tests.coterie.world import make_federation, make_pair

pytestmark = pytest.mark.django_db

SOON = timedelta(days=1)


@pytest.fixture
def ada() -> Operator:
    return create_operator(username="ada").operator


def bearing(operator: Operator, *scopes: Scope, days: float | None = None) -> APIClient:
    now = timezone.now()
    expires_at = None if days is None else now + timedelta(days=days)
    name = f"{'-'.join(scopes)}-{days}"
    secret = issue_token(operator=operator, name=name, scopes=scopes, expires_at=expires_at, now=now).secret
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture(params=["settings alone", "everything for a day"])
def narrow(request: pytest.FixtureRequest, ada: Operator) -> APIClient:
    """A token of an administrator that is narrower than she."""
    return bearing(ada, Scope.SETTINGS) if request.param == "settings alone" else bearing(ada, *Scope, days=1)


def refused(answer: object) -> bool:
    return (answer.status_code, answer.json()["code"]) in (
        (403, "acting.scope_needed"),
        (403, "acting.token_expires"),
    )


def test_a_narrow_token_gets_nobody_in(ada: Operator, narrow: APIClient) -> None:
    assert refused(narrow.post(f"/api/operators/{ada.pk}/sign-in-link/"))
    assert refused(narrow.post("/api/operators/", {"username": "eve", "role": "administrator"}))
    invited = Operator.objects.create_user("bob", role="viewer")  # without a password yet
    new = {"current": "", "new": "correct horse battery"}
    assert refused(bearing(invited, Scope.SETTINGS).post("/api/session/password/", new))
    assert set(Operator.objects.values_list("username", flat=True)) == {"ada", "bob"}
    invited.refresh_from_db()
    assert not invited.has_usable_password()


def test_a_narrow_token_takes_and_does_not_give(ada: Operator, narrow: APIClient) -> None:
    bob = create_operator(username="bob", role=OperatorRole.OPERATOR).operator
    gone = create_operator(username="gone").operator
    Operator.objects.filter(pk=gone.pk).update(is_active=False)
    assert refused(narrow.patch(f"/api/operators/{bob.pk}/", {"role": "administrator"}))
    assert refused(narrow.patch(f"/api/operators/{bob.pk}/", {"email": "eve@example.org"}))
    assert refused(narrow.patch(f"/api/operators/{gone.pk}/", {"is_active": True}))
    assert narrow.patch(f"/api/operators/{bob.pk}/", {"role": "viewer"}).status_code == 200
    assert narrow.patch(f"/api/operators/{bob.pk}/", {"is_active": False}).status_code == 200
    bob.refresh_from_db()
    assert (bob.role, bob.email, bob.is_active) == ("viewer", "", False)


def test_a_token_makes_none_that_lasts_longer(ada: Operator) -> None:
    client = bearing(ada, *Scope, days=1)
    sooner = (timezone.now() + SOON / 2).isoformat()
    later = (timezone.now() + SOON * 2).isoformat()
    assert refused(client.post("/api/tokens/", {"name": "for ever"}))
    assert refused(client.post("/api/tokens/", {"name": "longer", "expires_at": later}))
    assert client.post("/api/tokens/", {"name": "shorter", "expires_at": sooner}).status_code == 201
    assert not ApiToken.objects.filter(name__in=["for ever", "longer"]).exists()


def test_a_token_that_may_do_everything_for_ever_invites(ada: Operator) -> None:
    client = bearing(ada, *Scope)
    assert client.post("/api/operators/", {"username": "bob", "role": "viewer"}).status_code == 201
    assert client.post(f"/api/operators/{ada.pk}/sign-in-link/").status_code == 200
    assert client.post("/api/tokens/", {"name": "another"}).status_code == 201


def test_plans_are_checked_for_who_may_read(ada: Operator) -> None:
    federation = make_federation(make_pair())
    addresses = ["/api/plan-check/", f"/api/federations/{federation.pk}/plan-preview/"]
    for address in addresses:
        assert refused(bearing(ada, Scope.FLEET).post(address, {"plan": {}})), address
        ApiToken.objects.all().delete()
        assert bearing(ada, Scope.READ).post(address, {"plan": {}}).status_code == 200, address
        ApiToken.objects.all().delete()
        assert APIClient().post(address, {"plan": {}}).status_code == 401, address
