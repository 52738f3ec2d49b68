"""Sessions of browsers in the REST API: who is signed in and may do what, sign in, sign out, change the password."""

from typing import cast

from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.middleware.csrf import get_token
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts import second_factor, services
from coterie.accounts.browsers import BY_SECOND_FACTOR
from coterie.accounts.models import Operator
from coterie.accounts.operator_api import SCOPES, OperatorSerializer
from coterie.accounts.passwords import CAME_BY_LINK
from coterie.accounts.permissions import SignedIn
from coterie.accounts.roles import projects_of
from coterie.audit.actions import ACTIONS, why_not
from coterie.core.acting import Scope, current_actor
from coterie.core.body import check_body
from coterie.core.choice_field import MultipleChoiceField


class MaySerializer(serializers.Serializer[None]):
    """Whether one may do something."""

    action = serializers.CharField()
    title = serializers.CharField()
    allowed = serializers.BooleanField()
    code = serializers.CharField(help_text="why not; blank: allowed")
    sentence = serializers.CharField(help_text="why not; blank: allowed")


class ActingInSerializer(serializers.Serializer[None]):
    """A project, as one chooses it."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    organisation_name = serializers.CharField()


class SessionSerializer(serializers.Serializer[None]):
    """Who is signed in, and what they may do."""

    operator = OperatorSerializer(allow_null=True, help_text="null: nobody is signed in")
    scopes = MultipleChoiceField(choices=SCOPES, help_text="of the API token; a person has all")
    project = ActingInSerializer(
        allow_null=True, help_text="the one that is acted in; null: all, or nobody is signed in"
    )
    projects = ActingInSerializer(many=True, help_text="those that may be chosen")
    all_projects = serializers.BooleanField(help_text="whether all may be chosen at once")
    may = MaySerializer(many=True, help_text="every action, for buttons that say why they are disabled")


class CredentialsSerializer(serializers.Serializer[None]):
    """Name and password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, style={"input_type": "password"})
    code = serializers.CharField(
        max_length=40, default="", allow_blank=True, help_text="of the second factor, where there is one"
    )


class ChangedPasswordSerializer(serializers.Serializer[None]):
    """The password as it is and as it shall be."""

    current = serializers.CharField(
        max_length=1000,
        trim_whitespace=False,
        default="",
        allow_blank=True,
        help_text="blank for who has none yet, or came by a sign-in link",
    )
    new = serializers.CharField(max_length=1000, trim_whitespace=False)


class SignedInToLeave(SignedIn):
    """Who is not signed in may ask who they are, and sign in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Always, and remember who it is."""
        return super().has_permission(request, view) or request.method in ("GET", "HEAD", "OPTIONS", "POST")

    def only_reads(self, request: Request) -> bool:
        """For tokens, which need their scope: a person without a role is told who they are, and that they have none."""
        return request.auth is not None and super().only_reads(request)


class SessionView(APIView):
    """The browser's session. Writes need the cookie ``csrftoken`` repeated in the header ``X-CSRFToken``."""

    permission_classes: "list[type[BasePermission]]" = [SignedInToLeave]

    @extend_schema(responses=SessionSerializer, operation_id="session_retrieve")
    def get(self, request: Request) -> Response:
        """Who is signed in; sets the cookie that sign-in and writes need."""
        get_token(request._request)
        return Response(_session(request.user if isinstance(request.user, Operator) else None))

    @extend_schema(request=CredentialsSerializer, responses=SessionSerializer, operation_id="session_create")
    def post(self, request: Request) -> Response:
        """Sign in. Raises WrongPassword, CodeNeeded, WrongCode, SecondFactorNeeded or TooManyAttempts."""
        SessionAuthentication().enforce_csrf(request)  # nobody is signed in yet
        given = CredentialsSerializer(data=request.data)
        check_body(given)
        code = given.validated_data.pop("code")
        operator = authenticate(request._request, **given.validated_data)
        if not isinstance(operator, Operator):
            raise services.WrongPassword
        has_one = second_factor.has_second_factor(operator)
        if has_one and not code:
            raise second_factor.CodeNeeded
        if has_one:
            second_factor.check_code(operator=operator, code=code, now=timezone.now())
        elif second_factor.must_have_one(operator):
            raise second_factor.SecondFactorNeeded(role=operator.role or "in a project")
        login(request._request, operator)
        request._request.session[BY_SECOND_FACTOR] = has_one
        return Response(_session(operator))

    @extend_schema(request=None, responses={204: None}, operation_id="session_destroy")
    def delete(self, request: Request) -> Response:
        """Sign out."""
        logout(request._request)
        return Response(status=204)


class PasswordView(APIView):
    """One's own password."""

    @extend_schema(request=ChangedPasswordSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change it; one's other sessions end, one's API tokens stay."""
        given = ChangedPasswordSerializer(data=request.data)
        check_body(given)
        operator = cast(Operator, request.user)
        by_link = request.auth is None and CAME_BY_LINK in request._request.session
        services.change_password(operator=operator, **given.validated_data, by_link=by_link)
        if request.auth is None:
            update_session_auth_hash(request._request, operator)
            request._request.session.pop(CAME_BY_LINK, None)
        return Response(status=204)


def _session(operator: Operator | None) -> dict[str, object]:
    actor = current_actor()
    known = (
        []
        if operator is None
        else [
            {"id": project.pk, "name": project.name, "organisation_name": project.organisation.name}
            for project in projects_of(operator)
            if actor.kind != "token" or actor.project in (None, project.pk)
        ]
    )
    refusals = {name: why_not(name, actor) for name in ACTIONS}
    return {
        "operator": None if operator is None else OperatorSerializer(operator).data,
        "scopes": [scope.value for scope in Scope if scope in actor.scopes],
        "project": next((project for project in known if project["id"] == actor.project), None),
        "projects": known,
        "all_projects": actor.installation_role() is not None,
        "may": [
            {
                "action": name,
                "title": ACTIONS[name].title,
                "allowed": refusal is None,
                "code": "" if refusal is None else refusal.code,
                "sentence": "" if refusal is None else str(refusal),
            }
            for name, refusal in refusals.items()
        ],
    }
