"""How the schema of the REST API describes our authentication."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped here
    """An HTTP bearer token; drf-spectacular finds this class by its being defined."""

    target_class = "coterie.accounts.authentication.ApiTokenAuthentication"
    name = "apiToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        """As OpenAPI wants it."""
        return {"type": "http", "scheme": "bearer", "description": "A token from /api/tokens/."}


class PasswordScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped here
    """Name and password."""

    target_class = "coterie.accounts.authentication.PasswordAuthentication"
    name = "basicAuth"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        """As OpenAPI wants it."""
        return {"type": "http", "scheme": "basic"}
