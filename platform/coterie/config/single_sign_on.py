"""The OpenID Connect provider that the environment names."""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

from coterie.accounts.provider import Provider
from coterie.config.env import Env
from coterie.core.acting import OperatorRole


def provider_of(env: Env) -> Provider | None:
    """The provider; None: operators sign in with passwords and links only. Raises ImproperlyConfigured."""
    if not env.oidc_issuer:
        return None
    if find_spec("mozilla_django_oidc") is None:
        raise ImproperlyConfigured("COTERIE_OIDC_ISSUER is set: install coterie[oidc]")
    return Provider(
        issuer=env.oidc_issuer,
        client_id=env.oidc_client_id,
        client_secret=env.oidc_client_secret,
        label=env.oidc_label,
        role_claim=env.oidc_role_claim,
        groups=(
            (OperatorRole.ADMINISTRATOR, env.oidc_administrators),
            (OperatorRole.OPERATOR, env.oidc_operators),
            (OperatorRole.VIEWER, env.oidc_viewers),
        ),
    )
