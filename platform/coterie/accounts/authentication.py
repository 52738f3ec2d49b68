"""Authentication in the REST API: the operator whose token the request bears."""

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, BasicAuthentication
from rest_framework.request import Request

from coterie.accounts import services
from coterie.accounts.models import ApiToken, Operator
from coterie.accounts.second_factor import SecondFactorNeeded, has_second_factor, must_have_one
from coterie.accounts.selectors import live_token

SCHEME = "bearer"


class ApiTokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer cot_…``."""

    def authenticate(self, request: Request) -> tuple[Operator, ApiToken] | None:
        """The operator and their token; None when the request bears none. Raises ApiTokenInvalid."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        now = timezone.now()
        token = live_token(secret.strip(), now=now)
        services.record_use(token=token, now=now)
        return token.operator, token

    def authenticate_header(self, _request: Request) -> str:
        """The scheme that a refused request is asked for."""
        return "Bearer"


class PasswordAuthentication(BasicAuthentication):
    """Name and password (HTTP basic authentication), for who has no second factor and needs none."""

    def authenticate_credentials(
        self, userid: str, password: str, request: Request | None = None
    ) -> tuple[Operator, None]:
        """The operator. Raises AuthenticationFailed, SecondFactorNeeded or TooManyAttempts."""
        operator, _ = super().authenticate_credentials(userid, password, request)
        assert isinstance(operator, Operator)
        if has_second_factor(operator) or must_have_one(operator):
            raise SecondFactorNeeded(role=operator.role or "in a project")
        return operator, None
