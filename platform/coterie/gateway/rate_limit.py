"""How many requests a minute the REST API answers to one person or API token, in all processes together."""

import time
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from coterie.accounts.models import ApiToken, Operator
from coterie.core.counting import count_up
from coterie.gateway.door.rates import TooManyRequests

if TYPE_CHECKING:  # the module of views imports this one, by its setting
    from rest_framework.views import APIView

WINDOW_S = 60


def count_request(who: str, *, limit: int) -> None:
    """Count one request of `who`. Raises TooManyRequests; each minute starts from zero."""
    now = int(time.time())
    key = f"requests:{who.replace(' ', ':')}:{now // WINDOW_S}"
    if count_up(key, within_s=2 * WINDOW_S) > limit:
        raise TooManyRequests(who=who, limit=limit, wait_s=WINDOW_S - now % WINDOW_S)


class PerActor(BaseThrottle):
    """Counts each person and each token separately."""

    def allow_request(self, request: Request, _view: "APIView") -> bool:
        """Always true: raises TooManyRequests instead, whose problem says how long to wait."""
        if isinstance(request.auth, ApiToken):
            count_request(f"token {request.auth.pk}", limit=settings.REQUESTS_PER_MINUTE)
        elif isinstance(request.user, Operator):
            count_request(f"person {request.user.pk}", limit=settings.REQUESTS_PER_MINUTE)
        return True
