"""Who speaks to the REST API: the operator whose token the request bears."""

from rest_framework.authentication import BaseAuthentication


class ApiTokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer cot_…``."""
