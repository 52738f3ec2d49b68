"""How many requests a minute the REST API answers: to one address, and to one person or API token."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from coterie.accounts.models import ApiToken, Operator
from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.problems import CONTENT_TYPE, problem_of

if TYPE_CHECKING:  # the module of views imports this one, by its setting
    from rest_framework.views import APIView

WINDOW_S = 60
ADDRESS_TIMES = 4
"""Several people and programs may share an address."""


class TooManyRequests(CoterieError):
    """Fields: who, limit, wait_s."""

    code = "gateway.too_many_requests"
    kind = ErrorKind.THROTTLED
    sentence = "More than {limit} requests came from {who} within a minute; wait {wait_s} s."


def count_request(who: str, *, limit: int) -> None:
    """Count one request of `who`. Raises TooManyRequests; a new minute begins anew."""
    now = int(time.time())
    key = f"requests:{who.replace(' ', ':')}:{now // WINDOW_S}"
    cache.add(key, 0, 2 * WINDOW_S)
    if cache.incr(key) > limit:
        raise TooManyRequests(who=who, limit=limit, wait_s=WINDOW_S - now % WINDOW_S)


class PerAddress:
    """Middleware: counts before anything is looked up, so that guessing costs the guesser and not the platform."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, or tell to wait."""
        if request.path.startswith("/api/"):
            try:
                limit = ADDRESS_TIMES * settings.REQUESTS_PER_MINUTE
                count_request(f"address {request.META.get('REMOTE_ADDR', '')}", limit=limit)
            except TooManyRequests as error:
                problem = problem_of(error)
                response = HttpResponse(msgspec.json.encode(problem), status=problem.status, content_type=CONTENT_TYPE)
                response["Retry-After"] = str(error.fields["wait_s"])
                return response
        return self.get_response(request)


class PerActor(BaseThrottle):
    """Counts each person and each token by itself."""

    def allow_request(self, request: Request, _view: "APIView") -> bool:
        """Always true: raises TooManyRequests instead, whose problem says how long to wait."""
        if isinstance(request.auth, ApiToken):
            count_request(f"token {request.auth.pk}", limit=settings.REQUESTS_PER_MINUTE)
        elif isinstance(request.user, Operator):
            count_request(f"person {request.user.pk}", limit=settings.REQUESTS_PER_MINUTE)
        return True
