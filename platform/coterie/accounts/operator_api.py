"""People and API tokens in the operators' REST API."""

from typing import cast

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.accounts import second_factor, services
from coterie.accounts.authentication import ApiTokenAuthentication, PasswordAuthentication
from coterie.accounts.models import ApiToken, Operator, SavedFilter, SecondFactor
from coterie.accounts.roles import people_of
from coterie.core.acting import OperatorRole, Scope, current_actor
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField, MultipleChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters

ROLES = [(role.value, role.value) for role in OperatorRole]
IN_INSTALLATION = "in the whole installation; blank: only what is given in projects and organisations"
SCOPES = [(scope.value, scope.value) for scope in Scope]


class ApiTokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    scopes = MultipleChoiceField(
        choices=SCOPES,
        required=False,
        allow_empty=False,
        help_text="what it may be used for, within your role; left out: everything",
    )

    class Meta:
        model = ApiToken
        fields = ["id", "name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]
        read_only_fields = ["id", "created_at", "last_used_at", "revoked_at"]


class IssuedApiTokenSerializer(ApiTokenSerializer):
    """A new token; `secret` is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(ApiTokenSerializer.Meta):
        fields = [*ApiTokenSerializer.Meta.fields, "secret"]


class ApiTokenFilter(serializers.Serializer[None]):
    """Which tokens to list."""

    live = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="not revoked")


class ApiTokenViewSet(ListedViewSet[ApiToken]):
    """The signed-in operator's own tokens; the first is had with name and password (HTTP basic authentication)."""

    authentication_classes = [ApiTokenAuthentication, PasswordAuthentication, SessionAuthentication]
    serializer_class = ApiTokenSerializer
    queryset = ApiToken.objects.all()
    filters = ApiTokenFilter
    sorts = {name: name for name in ("name", "created_at", "expires_at", "last_used_at")}
    searched = ("name",)

    def get_queryset(self) -> QuerySet[ApiToken]:
        """One's own; of who acts in one project, those of that project."""
        own, project = super().get_queryset().filter(operator=self.request.user.pk), current_actor().project
        return own if project is None else own.filter(project=project)

    def narrowed(self, rows: QuerySet[ApiToken], query: QueryParameters) -> QuerySet[ApiToken]:
        """Those that were revoked, or were not."""
        return rows.filter(revoked_at__isnull=query["live"]) if "live" in query else rows

    @extend_schema(request=ApiTokenSerializer, responses={201: IssuedApiTokenSerializer})
    def create(self, request: Request) -> Response:
        """A new token. Its secret is in this answer and nowhere else."""
        wanted = ApiTokenSerializer(data=request.data)
        check_body(wanted)
        given = dict(wanted.validated_data)
        scopes = [Scope(scope) for scope in given.pop("scopes", Scope)]
        operator = cast(Operator, request.user)
        token, secret = services.issue_token(operator=operator, scopes=scopes, **given, now=timezone.now())
        return Response({**ApiTokenSerializer(token).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """End the token at once."""
        token = self.get_object()
        services.revoke_token(token=token, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class SavedFilterSerializer(serializers.ModelSerializer[SavedFilter]):
    """A query of a table under a name."""

    query = serializers.DictField(child=serializers.CharField(allow_blank=True, max_length=500), default=dict)

    class Meta:
        model = SavedFilter
        fields = ["id", "table", "name", "query"]
        read_only_fields = ["id"]


class SavedFilterFilter(serializers.Serializer[None]):
    """Of which table."""

    table = serializers.CharField(required=False, max_length=40)


class SavedFilterViewSet(ListedViewSet[SavedFilter]):
    """The signed-in operator's own saved filters."""

    queryset = SavedFilter.objects.all()
    serializer_class = SavedFilterSerializer
    filters = SavedFilterFilter

    def get_queryset(self) -> QuerySet[SavedFilter]:
        """One's own."""
        return super().get_queryset().filter(operator=self.request.user.pk)

    @extend_schema(request=SavedFilterSerializer, responses={201: SavedFilterSerializer})
    def create(self, request: Request) -> Response:
        """Save a filter; one of the same table and name is replaced."""
        wanted = SavedFilterSerializer(data=request.data)
        check_body(wanted)
        kept = services.save_filter(operator=cast(Operator, request.user), **wanted.validated_data)
        return Response(SavedFilterSerializer(kept).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Remove it."""
        services.remove_filter(saved=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class OperatorSerializer(serializers.ModelSerializer[Operator]):
    """A person who may sign in."""

    role = ChoiceField(ROLES, allow_blank=True, help_text=IN_INSTALLATION)
    has_second_factor = serializers.SerializerMethodField(
        help_text="whether a code of an authenticator app, or a passkey, is asked for beside the password"
    )

    class Meta:
        model = Operator
        fields = ["id", "username", "email", "role", "is_active", "has_second_factor", "date_joined", "last_login"]
        read_only_fields = ["id", "username", "date_joined", "last_login"]

    def get_has_second_factor(self, operator: Operator) -> bool:
        """One that is only being set up is not asked for."""
        has_app = any(factor.confirmed_at is not None for factor in operator.second_factors.all())
        return has_app or bool(operator.passkeys.all())


class InvitedOperatorSerializer(serializers.ModelSerializer[Operator]):
    """Whom to let in."""

    role = ChoiceField(ROLES, default=OperatorRole.VIEWER, allow_blank=True, help_text=IN_INSTALLATION)

    class Meta:
        model = Operator
        fields = ["username", "email", "role"]


class SignInLinkSerializer(serializers.Serializer[str]):
    """How the person signs in the first time, or without the password."""

    sign_in_path = serializers.CharField(help_text="works once, within a day; put it behind the platform's address")


class NewOperatorSerializer(OperatorSerializer):
    """A new person with an invitation, which is shown this once."""

    sign_in_path = serializers.CharField(help_text="works once, within a day; put it behind the platform's address")

    class Meta(OperatorSerializer.Meta):
        fields = [*OperatorSerializer.Meta.fields, "sign_in_path"]


class OperatorFilter(serializers.Serializer[None]):
    """Which people to list."""

    role = ChoiceField(ROLES, required=False)
    is_active = serializers.BooleanField(required=False, allow_null=True, default=None)


class OperatorViewSet(ListedViewSet[Operator]):
    """People who may sign in."""

    queryset = Operator.objects.prefetch_related(
        Prefetch("second_factors", queryset=SecondFactor.objects.defer("secret")), "passkeys"
    )
    serializer_class = OperatorSerializer
    filters = OperatorFilter
    sorts = {name: name for name in ("username", "role", "date_joined", "last_login")}
    searched = ("username", "email")

    def get_queryset(self) -> QuerySet[Operator]:
        """All, for who has a role in the installation; else oneself and who has a role in the project."""
        actor, people = current_actor(), super().get_queryset()
        if actor.installation_role() is not None or actor.project is None:
            return people
        return people.filter(Q(pk__in=people_of(actor.project).values("pk")) | Q(pk=actor.id))

    @extend_schema(request=InvitedOperatorSerializer, responses={201: NewOperatorSerializer})
    def create(self, request: Request) -> Response:
        """Let a person in; the answer holds the link with which they sign in first."""
        wanted = InvitedOperatorSerializer(data=request.data)
        check_body(wanted)
        given = dict(wanted.validated_data)
        operator = services.invite_operator(**{**given, "role": OperatorRole(given["role"]) if given["role"] else None})
        path = services.sign_in_path(operator=operator)
        return Response({**OperatorSerializer(operator).data, "sign_in_path": path}, status=status.HTTP_201_CREATED)

    @extend_schema(request=OperatorSerializer(partial=True), responses=OperatorSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Give a person another role or address, shut them out, or let them in again."""
        operator = self.get_object()
        change = OperatorSerializer(operator, data=request.data, partial=True)
        check_body(change)
        given = dict(change.validated_data)
        if given.get("role"):
            given["role"] = OperatorRole(given["role"])
        services.change_operator(operator=operator, **given)
        operator.refresh_from_db()
        return Response(OperatorSerializer(operator).data)

    @extend_schema(request=None, responses=SignInLinkSerializer)
    @action(detail=True, methods=["post"], url_path="sign-in-link")
    def sign_in_link(self, _request: Request, **_: int) -> Response:
        """A link that signs the person in once: for a password that was forgotten."""
        return Response({"sign_in_path": services.issue_sign_in_link(operator=self.get_object())})

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["post"], url_path="reset-second-factor")
    def reset_second_factor(self, _request: Request, **_: int) -> Response:
        """Take app and passkeys away from a person who has lost them and the recovery codes."""
        second_factor.reset_second_factor(operator=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
