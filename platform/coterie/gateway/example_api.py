"""The digits example in the operators' REST API: the shortest way from an empty platform to rounds that are held."""

from datetime import timedelta
from typing import cast

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts.models import Operator
from coterie.accounts.services import issue_token
from coterie.core.acting import OperatorRole, Scope, current_actor
from coterie.core.choice_field import ChoiceField
from coterie.gateway.example import EXAMPLE, Example, ExampleRuns, ExampleUnavailable, why_unavailable

SCOPES = (Scope.READ, Scope.FLEET, Scope.MODELS, Scope.FEDERATIONS)
LASTS = timedelta(days=30)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ExampleSerializer(serializers.Serializer[Example]):
    """How the example stands."""

    unavailable = serializers.CharField(help_text="why it cannot run on this platform; blank: it can")
    state = ChoiceField(["none", "running", "ended", "failed"])
    says = serializers.CharField(help_text="what it does, or why it failed; blank: nothing yet")


class ExampleView(APIView):
    """The example with four devices that learn to read digits, as processes of this machine."""

    @extend_schema(responses=ExampleSerializer, operation_id="example", tags=["platform"])
    def get(self, _request: Request) -> Response:
        """Whether it can run, whether it does, and how far it is."""
        return _answer()

    @extend_schema(request=None, responses={201: ExampleSerializer}, operation_id="example_start", tags=["platform"])
    def post(self, request: Request) -> Response:
        """Start it. It acts with an API token of its own, `digits example`, and ends when that is revoked."""
        current_actor().require(OperatorRole.OPERATOR, Scope.MODELS)
        why = why_unavailable()
        if why:
            raise ExampleUnavailable(why=why)
        if EXAMPLE.state == "running":
            raise ExampleRuns
        now = timezone.now()
        name = f"digits example {now:%F %T}"
        with transaction.atomic():
            operator = cast(Operator, request.user)
            secret = issue_token(operator=operator, name=name, scopes=SCOPES, expires_at=now + LASTS, now=now).secret
            transaction.on_commit(
                lambda: EXAMPLE.start(url=_own_address(request), token=secret, home=settings.STATE / "example")
            )
        return _answer(status.HTTP_201_CREATED)


def _answer(code: int = status.HTTP_200_OK) -> Response:
    return Response({"unavailable": why_unavailable(), "state": EXAMPLE.state, "says": EXAMPLE.says}, status=code)


def _own_address(request: Request) -> str:
    """Where this process listens, whatever stands before it."""
    host, port = request.META["SERVER_NAME"], request.META["SERVER_PORT"]
    if host in LOOPBACK:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
