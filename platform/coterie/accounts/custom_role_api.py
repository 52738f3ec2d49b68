"""Roles of an organisation's own in the operators' REST API."""

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.accounts import custom_roles
from coterie.accounts.effective import GIVABLE
from coterie.accounts.models import CustomRole, Organisation
from coterie.accounts.operator_api import ROLES, SCOPES
from coterie.accounts.project_api import seen, seen_roles
from coterie.audit.actions import ACTIONS
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.key_field import KeyField
from coterie.core.listing import ListedViewSet


class CustomRoleSerializer(serializers.ModelSerializer[CustomRole]):
    """A named set of actions."""

    name = serializers.CharField(max_length=100)
    organisation_name = serializers.CharField(source="organisation.name", read_only=True)
    actions = serializers.ListField(
        child=serializers.CharField(max_length=100), max_length=200, help_text="names of `custom-roles/actions/`"
    )

    class Meta:
        model = CustomRole
        fields = ["id", "organisation", "organisation_name", "name", "actions", "made_at"]
        read_only_fields = ["id", "made_at"]
        validators = ()  # the service says that a name is taken


class ChangedCustomRoleSerializer(serializers.Serializer[None]):
    """Another name, or other actions; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    actions = serializers.ListField(child=serializers.CharField(max_length=100), max_length=200, required=False)


class GivableActionSerializer(serializers.Serializer[None]):
    """Something that a custom role may let people do."""

    action = serializers.CharField()
    title = serializers.CharField()
    needs = ChoiceField(ROLES, help_text="the lowest built-in role that may do it")
    scope = ChoiceField(SCOPES, help_text="that an API token needs for it")


class CustomRoleFilter(serializers.Serializer[None]):
    """Which roles to list."""

    organisation = KeyField(required=False)


class CustomRoleViewSet(ListedViewSet[CustomRole]):
    """Roles of the organisations in which one has a role."""

    queryset = CustomRole.objects.select_related("organisation")
    serializer_class = CustomRoleSerializer
    filters = CustomRoleFilter
    sorts = {"name": "name", "organisation_name": "organisation__name", "made_at": "made_at"}
    searched = ("name", "organisation__name")

    def get_queryset(self) -> QuerySet[CustomRole]:
        """All, for who has a role in the installation."""
        return super().get_queryset().filter(pk__in=seen_roles().values("pk"))

    @extend_schema(request=CustomRoleSerializer, responses={201: CustomRoleSerializer})
    def create(self, request: Request) -> Response:
        """A role, no wider than one's own in the organisation; who has it sees everything, and may do its actions."""
        wanted = CustomRoleSerializer(data=request.data)
        wanted.fields["organisation"].queryset = seen(Organisation.objects.all(), "projects")  # type: ignore[attr-defined]
        check_body(wanted)
        made = custom_roles.create_custom_role(**wanted.validated_data, now=timezone.now())
        return Response(CustomRoleSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ChangedCustomRoleSerializer, responses=CustomRoleSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Another name, or other actions, for all who have it from their next request on."""
        change = ChangedCustomRoleSerializer(data=request.data)
        check_body(change)
        role = self.get_object()
        custom_roles.change_custom_role(role=role, **change.validated_data)
        return Response(CustomRoleSerializer(role).data)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Remove a role that nobody has."""
        custom_roles.remove_custom_role(role=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=GivableActionSerializer(many=True), operation_id="custom_roles_actions", filters=False)
    @action(detail=False, pagination_class=None)
    def actions(self, _request: Request) -> Response:
        """What custom roles are made of."""
        known = [(name, ACTIONS[name]) for name in GIVABLE]
        return Response(
            [
                {"action": name, "title": action.title, "needs": action.needs.value, "scope": action.scope.value}
                for name, action in known
            ]
        )
