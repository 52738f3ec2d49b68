"""Who acts in a request: nobody until it is authenticated, then its operator or token."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from coterie.accounts.models import Operator
from coterie.accounts.roles import actor_of
from coterie.core.acting import NOBODY, OperatorRole, Scope, acting_as, become

if TYPE_CHECKING:  # the module of views imports this one, by its setting
    from rest_framework.views import APIView


class NobodyYet:
    """Middleware: whatever forgets to ask who sends a request cannot write."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer as nobody."""
        with acting_as(NOBODY):
            return self.get_response(request)


class SignedIn(BasePermission):
    """The default of the REST API: an operator or their token, the actor from here on; services ask the rest."""

    def has_permission(self, request: Request, _view: "APIView") -> bool:
        """Whether it is known who asks. Raises ScopeNeeded where a token may not read."""
        if not isinstance(request.user, Operator):
            return False
        session = getattr(request._request, "session", None)
        actor = actor_of(request.user, request.auth, address=request.META.get("REMOTE_ADDR", ""), session=session)
        become(actor)
        if self.only_reads(request):
            actor.require(OperatorRole.VIEWER, Scope.READ)
        return True

    def only_reads(self, request: Request) -> bool:
        """Whether the request changes nothing, so that no service asks what its sender may do."""
        return request.method in SAFE_METHODS


class SignedInToRead(SignedIn):
    """For what changes nothing although it is posted: a question that is too long for an address."""

    def only_reads(self, request: Request) -> bool:  # noqa: ARG002 - whatever the method
        """It does."""
        return True
