"""OpenID Connect by mozilla-django-oidc: the code flow with PKCE, state and nonce, and what the library does not check.

Checked here beyond the signature (OpenID Connect Core 1.0, sections 3.1.3.7 and 5.3.2): issuer, audience, expiry, and
that the user info is of the same subject. Importing this needs ``coterie[oidc]``.
"""

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.utils import import_from_settings
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from coterie.accounts.browsers import BY_SECOND_FACTOR
from coterie.accounts.models import Operator
from coterie.accounts.provider import Claims, Provider
from coterie.accounts.single_sign_on import ProviderUnavailable, SignOnRefused, SignOnStale, sign_on
from coterie.core.errors import CoterieError, ErrorKind

logger = logging.getLogger(__name__)

TIMEOUT_S = 10
ALGORITHM = "RS256"
"""Which every provider has (OpenID Connect Core 1.0, section 15.1)."""
STATUS: Mapping[ErrorKind, int] = {
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.CONFLICT: 409,
    ErrorKind.GONE: 410,
    ErrorKind.UNAVAILABLE: 503,
}


class OpenIdBackend(OIDCAuthenticationBackend):  # type: ignore[misc]  # the library is untyped
    """Signs in whom the provider has signed in; it checks no passwords."""

    get_settings = staticmethod(lambda name, *default: _setting(name, *default))

    def __init__(self) -> None:
        """The provider is asked where it is when somebody signs in with it, not whenever anybody does anything."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> Operator | None:  # noqa: ANN401
        """The operator; None where another backend is meant. Raises CoterieError as `sign_on` does.

        Also ProviderUnavailable.
        """
        if "nonce" not in credentials:
            return None
        super().__init__()
        try:
            operator: Operator | None = super().authenticate(request, **credentials)
        except requests.RequestException as error:
            answer = error.response
            logger.warning("single sign-on: %s", error)
            if answer is not None and 400 <= answer.status_code < 500:
                raise SignOnRefused(problem="it does not accept this platform's request; its log says why") from error
            raise ProviderUnavailable(issuer=_provider().issuer) from error
        except (jwt.PyJWTError, SuspiciousOperation, ValueError, KeyError, TypeError) as error:
            logger.warning("single sign-on: %s", error)
            raise SignOnRefused(problem="what it says of you cannot be verified") from error
        return operator

    def get_user(self, user_id: int) -> Operator | None:
        """Who has the session, unless he was shut out since."""
        return ModelBackend.get_user(self, user_id)

    def verify_token(self, token: str, **expected: str) -> Claims:
        """The claims of a token that the provider has signed. Raises SuspiciousOperation or a PyJWTError."""
        claims: dict[str, Any] = super().verify_token(token, **expected)
        audience = claims.get("aud")
        ours = _provider().client_id
        if claims.get("iss") != _provider().issuer:
            raise SuspiciousOperation("a token of another issuer")
        if audience != ours and not (isinstance(audience, list) and ours in audience):
            raise SuspiciousOperation("a token for another client")
        if claims.get("azp", ours) != ours:
            raise SuspiciousOperation("a token that was given to another client")
        if "nonce" in expected and "exp" not in claims:
            raise SuspiciousOperation("a token without an end")
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> Operator:
        """The operator whom token and user info stand for."""
        stated: dict[str, Any] = self.get_userinfo(access_token, id_token, payload)
        if stated.get("sub") != payload.get("sub"):
            raise SignOnRefused(problem="it answers with what belongs to somebody else")
        return sign_on(provider=_provider(), claims={**payload, **stated}, now=timezone.now())


class _Begin(OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Sends the browser to the provider."""

    get_settings = staticmethod(lambda name, *default: _setting(name, *default))


class _Answer(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """Takes the browser back from it."""

    get_settings = staticmethod(lambda name, *default: _setting(name, *default))

    def get(self, request: HttpRequest) -> HttpResponse:
        """Sign in and go where the operator wanted to."""
        if request.GET.get("error"):
            raise SignOnRefused(problem=f"it says {request.GET['error'][:60]!r}")
        try:
            answer: HttpResponse = super().get(request)
        except SuspiciousOperation as error:
            raise SignOnStale from error
        return answer

    def login_success(self) -> HttpResponse:
        """What else the provider asks for beside a password is its own business."""
        answer: HttpResponse = super().login_success()
        self.request.session[BY_SECOND_FACTOR] = True
        return answer

    def login_failure(self) -> HttpResponse:
        """Whatever is not foreseen above."""
        raise SignOnStale


def _refusals_shown(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Show a page that says why one is not signed in, with the code."""

    @wraps(view)
    def shown(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except CoterieError as error:
            return render(request, "accounts/sign_on_refused.html", {"error": error}, status=STATUS[error.kind])

    return shown


begin = never_cache(_refusals_shown(_Begin.as_view()))
answer = never_cache(_refusals_shown(_Answer.as_view()))


def _provider() -> Provider:
    provider = settings.SINGLE_SIGN_ON
    assert isinstance(provider, Provider), "its addresses are there where it is"
    return provider


def _setting(name: str, *default: object) -> object:
    """What the library asks the settings for."""
    ours = answers(_provider())
    return ours[name] if name in ours else import_from_settings(name, *default)


@lru_cache(maxsize=4)
def answers(provider: Provider) -> Mapping[str, object]:
    """By the library's names. Raises ProviderUnavailable; what was found stands until the process ends."""
    place = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        found = requests.get(place, timeout=TIMEOUT_S)
        found.raise_for_status()
        stated = found.json()
        endpoints = {
            "OIDC_OP_AUTHORIZATION_ENDPOINT": stated["authorization_endpoint"],
            "OIDC_OP_TOKEN_ENDPOINT": stated["token_endpoint"],
            "OIDC_OP_USER_ENDPOINT": stated["userinfo_endpoint"],
            "OIDC_OP_JWKS_ENDPOINT": stated["jwks_uri"],
        }
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        logger.warning("single sign-on: %s: %s", place, error)
        raise ProviderUnavailable(issuer=provider.issuer) from error
    if stated.get("issuer") != provider.issuer:
        logger.warning("single sign-on: %s calls itself %r", place, stated.get("issuer"))
        raise ProviderUnavailable(issuer=provider.issuer)
    return {
        **endpoints,
        "OIDC_RP_CLIENT_ID": provider.client_id,
        "OIDC_RP_CLIENT_SECRET": provider.client_secret,
        "OIDC_RP_SCOPES": "openid profile email",
        "OIDC_RP_SIGN_ALGO": ALGORITHM,
        "OIDC_USE_PKCE": True,
        "OIDC_TIMEOUT": TIMEOUT_S,
        "OIDC_AUTHENTICATION_CALLBACK_URL": "single-sign-on-answer",
    }
