from datetime import datetime, timedelta

import pytest
from django.test import Client

from coterie.accounts.models import ApiToken, Operator
from coterie.accounts.selectors import (
    ApiTokenInvalid,
    OperatorUnknown,
    SignInLinkInvalid,
    live_token,
    operator_named,
    operator_of_sign_in,
)
from coterie.accounts.services import (
    OperatorExists,
    TokenNameTaken,
    create_operator,
    issue_token,
    record_use,
    revoke_token,
    sign_in_path,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Operator:
    return create_operator(username="ada").operator


def test_an_operator_signs_in_with_the_generated_password() -> None:
    operator, password = create_operator(username="ada")
    assert Client().login(username="ada", password=password)
    assert operator_named("ada") == operator
    with pytest.raises(OperatorExists):
        create_operator(username="ada")
    with pytest.raises(OperatorUnknown):
        operator_named("eve")


class TestTokens:
    def test_only_the_hash_is_kept(self, operator: Operator, now: datetime) -> None:
        token, secret = issue_token(operator=operator, name="ci", now=now)
        assert live_token(secret, now=now) == token
        assert secret not in str(ApiToken.objects.values().get())

    def test_a_name_is_free_again_when_its_token_is_revoked(self, operator: Operator, now: datetime) -> None:
        token, secret = issue_token(operator=operator, name="ci", now=now)
        with pytest.raises(TokenNameTaken):
            issue_token(operator=operator, name="ci", now=now)
        revoke_token(token=token, now=now)
        with pytest.raises(ApiTokenInvalid):
            live_token(secret, now=now)
        issue_token(operator=operator, name="ci", now=now)

    def test_ends_with_its_time_and_its_operator(self, operator: Operator, now: datetime) -> None:
        expires_at = now + timedelta(hours=1)
        _, secret = issue_token(operator=operator, name="ci", expires_at=expires_at, now=now)
        with pytest.raises(ApiTokenInvalid):
            live_token(secret, now=expires_at)
        operator.is_active = False
        operator.save()
        with pytest.raises(ApiTokenInvalid):
            live_token(secret, now=now)

    def test_use_is_recorded_to_the_minute(self, operator: Operator, now: datetime) -> None:
        token, secret = issue_token(operator=operator, name="ci", now=now)
        for seconds in (0, 59, 61):
            record_use(token=live_token(secret, now=now), now=now + timedelta(seconds=seconds))
            token.refresh_from_db()
            assert token.last_used_at == now + timedelta(seconds=0 if seconds < 60 else 61)


class TestSignInLink:
    def test_signs_in_once(self, operator: Operator) -> None:
        path = sign_in_path(operator=operator)
        client = Client()
        assert client.post(path).headers["Location"] == "/"
        assert client.session["_auth_user_id"] == str(operator.pk)
        again = Client().get(path)
        assert again.status_code == 410
        assert "used or has expired" in again.content.decode()

    @pytest.mark.parametrize("link", ["", ".", "x.y", "MQ.cto-guessed", "é.é", "OTk.a-b"])
    def test_refuses_what_is_none(self, link: str, operator: Operator) -> None:
        with pytest.raises(SignInLinkInvalid):
            operator_of_sign_in(link)
