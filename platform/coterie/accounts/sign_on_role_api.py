"""Roles that single sign-on gives in projects and organisations, in the operators' REST API."""

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.accounts import sign_on_roles
from coterie.accounts.models import Organisation, Project, SignOnRole
from coterie.accounts.operator_api import ROLES
from coterie.accounts.project_api import choose_from_seen, one_role_in_one_place, seen
from coterie.core.acting import OperatorRole
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.key_field import KeyField
from coterie.core.listing import ListedViewSet


class SignOnRoleSerializer(serializers.ModelSerializer[SignOnRole]):
    """A role in a project or in an organisation, given to whoever the provider tells the value of."""

    claim_value = serializers.CharField(
        max_length=200, help_text="of the claim COTERIE_OIDC_ROLE_CLAIM, such as a group; *: whoever is let in"
    )
    role = ChoiceField(ROLES, help_text="a viewer's where a custom role adds to it")
    custom_role_name = serializers.CharField(
        source="custom_role.name", default="", read_only=True, help_text="blank: it is a built-in role"
    )

    class Meta:
        model = SignOnRole
        fields = ["id", "claim_value", "role", "custom_role", "custom_role_name", "organisation", "project", "made_at"]
        read_only_fields = ["id", "made_at"]
        validators = ()  # the service says that the value gives a role there


class NewSignOnRoleSerializer(SignOnRoleSerializer):
    """A role that a value shall give: a built-in or a custom one, in a project or an organisation."""

    role = ChoiceField(ROLES, required=False)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Raises ValidationError unless it is one role in one place."""
        return one_role_in_one_place(attrs)


class SignOnRoleFilter(serializers.Serializer[None]):
    """Which to list."""

    organisation = KeyField(required=False)
    project = KeyField(required=False)


class SignOnRoleViewSet(ListedViewSet[SignOnRole]):
    """What values of the provider's claim give in projects and organisations that one sees oneself."""

    queryset = SignOnRole.objects.select_related("custom_role")
    serializer_class = SignOnRoleSerializer
    filters = SignOnRoleFilter
    sorts = {"claim_value": "claim_value", "role": "role", "made_at": "made_at"}
    searched = ("claim_value",)

    def get_queryset(self) -> QuerySet[SignOnRole]:
        """All, for who has a role in the installation."""
        organisations, projects = seen(Organisation.objects.all(), "projects"), seen(Project.objects.all(), "")
        return (
            super()
            .get_queryset()
            .filter(Q(organisation__in=organisations.values("pk")) | Q(project__in=projects.values("pk")))
        )

    @extend_schema(request=NewSignOnRoleSerializer, responses={201: SignOnRoleSerializer})
    def create(self, request: Request) -> Response:
        """Have a value give a role there to whoever signs in with it from now on."""
        wanted = NewSignOnRoleSerializer(data=request.data)
        choose_from_seen(wanted)
        check_body(wanted)
        given = wanted.validated_data
        mapped = sign_on_roles.map_claim(
            claim_value=given["claim_value"],
            role=given.get("custom_role") or OperatorRole(given["role"]),
            to=given.get("project") or given["organisation"],
            now=timezone.now(),
        )
        return Response(SignOnRoleSerializer(mapped).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """No longer; who has the role by it loses it when they sign in again."""
        sign_on_roles.unmap_claim(mapped=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
