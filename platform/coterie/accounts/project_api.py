"""Organisations, projects, and the roles of people in them, in the operators' REST API."""

from typing import Any, TypeVar, cast

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts import projects
from coterie.accounts.models import ApiToken, CustomRole, Grant, Operator, Organisation, Project
from coterie.accounts.operator_api import ROLES
from coterie.accounts.roles import CHOSEN, ProjectUnknown, projects_of
from coterie.accounts.selectors import operator_named
from coterie.core.acting import OperatorRole, TokenOfProject, current_actor
from coterie.core.archiving_api import ARCHIVED_AT, ArchivedFilter
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.key_field import KeyField
from coterie.core.listing import ListedViewSet, QueryParameters

P = TypeVar("P", Organisation, Project)


class ArchivableSerializer(serializers.Serializer[None]):
    """Another name, or another state; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    archived = serializers.BooleanField(required=False)


class OrganisationSerializer(serializers.ModelSerializer[Organisation]):
    """Has projects."""

    name = serializers.CharField(max_length=100)

    class Meta:
        model = Organisation
        fields = ["id", "name", "created_at", "archived_at"]
        read_only_fields = ["id", "created_at", "archived_at"]
        extra_kwargs = {"archived_at": {"help_text": ARCHIVED_AT}}


class OrganisationViewSet(ListedViewSet[Organisation]):
    """Organisations in which one has a role."""

    queryset = Organisation.objects.all()
    serializer_class = OrganisationSerializer
    filters = ArchivedFilter
    sorts = {name: name for name in ("name", "created_at")}
    searched = ("name",)

    def get_queryset(self) -> QuerySet[Organisation]:
        """All, for who has a role in the installation."""
        return seen(super().get_queryset(), "projects")

    def narrowed(self, rows: QuerySet[Organisation], query: QueryParameters) -> QuerySet[Organisation]:
        """Those that are archived, or are not."""
        return rows.filter(archived_at__isnull=not query["archived"])

    @extend_schema(request=OrganisationSerializer, responses={201: OrganisationSerializer})
    def create(self, request: Request) -> Response:
        """An organisation without projects."""
        wanted = OrganisationSerializer(data=request.data)
        check_body(wanted)
        made = projects.create_organisation(**wanted.validated_data, now=timezone.now())
        return Response(OrganisationSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ArchivableSerializer, responses=OrganisationSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Rename it, archive it with all its projects, or take it back."""
        change = ArchivableSerializer(data=request.data)
        check_body(change)
        organisation = self.get_object()
        projects.change_organisation(organisation=organisation, **change.validated_data, now=timezone.now())
        return Response(OrganisationSerializer(organisation).data)


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """What is kept apart."""

    name = serializers.CharField(max_length=100)
    organisation_name = serializers.CharField(source="organisation.name", read_only=True)

    class Meta:
        model = Project
        fields = ["id", "organisation", "organisation_name", "name", "created_at", "archived_at"]
        read_only_fields = ["id", "created_at", "archived_at"]
        extra_kwargs = {"archived_at": {"help_text": ARCHIVED_AT}}
        validators = ()  # the service says that a name is taken


class ProjectFilter(ArchivedFilter):
    """Which projects to list."""

    organisation = KeyField(required=False)


class ProjectViewSet(ListedViewSet[Project]):
    """Projects in which one has a role; an API token of one project sees that one."""

    queryset = Project.objects.select_related("organisation")
    serializer_class = ProjectSerializer
    filters = ProjectFilter
    sorts = {"name": "name", "organisation_name": "organisation__name", "created_at": "created_at"}
    searched = ("name", "organisation__name")

    def get_queryset(self) -> QuerySet[Project]:
        """All, for who has a role in the installation."""
        return seen(super().get_queryset(), "")

    def narrowed(self, rows: QuerySet[Project], query: QueryParameters) -> QuerySet[Project]:
        """Of an organisation; those that are archived, or are not."""
        rows = rows.filter(archived_at__isnull=not query["archived"])
        return rows.filter(organisation=query["organisation"]) if "organisation" in query else rows

    @extend_schema(request=ProjectSerializer, responses={201: ProjectSerializer})
    def create(self, request: Request) -> Response:
        """A project of an organisation."""
        wanted = ProjectSerializer(data=request.data)
        wanted.fields["organisation"].queryset = seen(Organisation.objects.all(), "projects")  # type: ignore[attr-defined]
        check_body(wanted)
        made = projects.create_project(**wanted.validated_data, now=timezone.now())
        return Response(ProjectSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ArchivableSerializer, responses=ProjectSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Rename it, archive it, or take it back; what is in it goes on."""
        change = ArchivableSerializer(data=request.data)
        check_body(change)
        project = self.get_object()
        projects.change_project(project=project, **change.validated_data, now=timezone.now())
        return Response(ProjectSerializer(project).data)


class GrantSerializer(serializers.ModelSerializer[Grant]):
    """A role of a person in a project or in an organisation; one of the two is given."""

    username = serializers.CharField(source="operator.username", max_length=150)
    role = ChoiceField(ROLES, help_text="a viewer's where a custom role adds to it")
    custom_role_name = serializers.CharField(
        source="custom_role.name", default="", read_only=True, help_text="blank: it is a built-in role"
    )

    class Meta:
        model = Grant
        fields = [
            "id",
            "username",
            "role",
            "custom_role",
            "custom_role_name",
            "organisation",
            "project",
            "by_sign_on",
            "given_at",
        ]
        read_only_fields = ["id", "by_sign_on", "given_at"]
        extra_kwargs = {"by_sign_on": {"help_text": "a claim of the provider's gives it, and takes it away"}}
        validators = ()  # a second role in a place replaces the first


def one_role_in_one_place(attrs: dict[str, object]) -> dict[str, object]:
    """The attributes of a role to give. Raises ValidationError unless it is one role in one place."""
    if (attrs.get("organisation") is None) == (attrs.get("project") is None):
        raise serializers.ValidationError("give an organisation or a project")
    if (attrs.get("role") is None) == (attrs.get("custom_role") is None):
        raise serializers.ValidationError("give a role or a custom role")
    return attrs


def choose_from_seen(wanted: serializers.ModelSerializer[Any]) -> None:
    """Let a role be given in places, and from custom roles, that whoever acts sees. Any: of whichever model."""
    wanted.fields["organisation"].queryset = seen(Organisation.objects.all(), "projects")  # type: ignore[attr-defined]
    wanted.fields["project"].queryset = seen(Project.objects.all(), "")  # type: ignore[attr-defined]
    wanted.fields["custom_role"].queryset = seen_roles()  # type: ignore[attr-defined]


class GivenRoleSerializer(GrantSerializer):
    """A role to give: a built-in or a custom one, in a project or an organisation."""

    role = ChoiceField(ROLES, required=False)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Raises ValidationError unless it is one role in one place."""
        return one_role_in_one_place(attrs)


class GrantFilter(serializers.Serializer[None]):
    """Which roles to list."""

    organisation = KeyField(required=False)
    project = KeyField(required=False)
    operator = KeyField(required=False)


class GrantViewSet(ListedViewSet[Grant]):
    """Roles of people in projects and organisations that one sees oneself."""

    queryset = Grant.objects.select_related("operator", "custom_role", "organisation", "project__organisation")
    serializer_class = GrantSerializer
    filters = GrantFilter
    sorts = {"username": "operator__username", "role": "role", "given_at": "given_at"}
    searched = ("operator__username",)

    def get_queryset(self) -> QuerySet[Grant]:
        """All, for who has a role in the installation; else those in the project that one acts in."""
        actor, grants = current_actor(), super().get_queryset()
        if actor.installation_role() is not None or actor.project is None:
            return grants
        return grants.filter(Q(project=actor.project) | Q(organisation__projects=actor.project))

    @extend_schema(request=GivenRoleSerializer, responses={201: GrantSerializer})
    def create(self, request: Request) -> Response:
        """Give a person a role in a project or organisation, instead of any that they have there."""
        wanted = GivenRoleSerializer(data=request.data)
        choose_from_seen(wanted)
        check_body(wanted)
        given = wanted.validated_data
        grant = projects.give_role(
            operator=operator_named(given["operator"]["username"]),
            role=given.get("custom_role") or OperatorRole(given["role"]),
            to=given.get("project") or given["organisation"],
            now=timezone.now(),
        )
        return Response(GrantSerializer(grant).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Take the role away."""
        projects.take_role(grant=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChosenProjectSerializer(serializers.Serializer[None]):
    """In which project to act."""

    project = KeyField(allow_null=True, help_text="null: all, for who has a role in the installation")


class ChosenProjectView(APIView):
    """The project that the browser's session acts in."""

    @extend_schema(request=ChosenProjectSerializer, responses={204: None}, operation_id="session_choose_project")
    def post(self, request: Request) -> Response:
        """Act in another project from the next request on. Raises ProjectUnknown or TokenOfProject."""
        given = ChosenProjectSerializer(data=request.data)
        check_body(given)
        if isinstance(request.auth, ApiToken):
            raise TokenOfProject(token=request.auth.name)
        project, operator = given.validated_data["project"], cast(Operator, request.user)
        may = bool(operator.role) if project is None else projects_of(operator).filter(pk=project).exists()
        if not may:
            raise ProjectUnknown(project=project)
        request._request.session[CHOSEN] = project
        return Response(status=status.HTTP_204_NO_CONTENT)


def seen_roles() -> QuerySet[CustomRole]:
    """Custom roles of the organisations in which whoever acts has a role."""
    return CustomRole.objects.filter(organisation__in=seen(Organisation.objects.all(), "projects").values("pk"))


def seen(rows: QuerySet[P], projects_by: str) -> QuerySet[P]:
    """Those of `rows` in which whoever acts has a role: of a token the one that it is of, of a person all of theirs."""
    actor = current_actor()
    if actor.kind == "system" or actor.installation_role() is not None:
        return rows
    if actor.kind == "token":
        return rows.filter(**{projects_by or "pk": actor.project})
    operator = Operator.objects.filter(pk=actor.id).first() if actor.id else None
    known = Project.objects.none() if operator is None else projects_of(operator).order_by()
    return rows.filter(**{f"{projects_by or 'pk'}__in": known.values("pk")}).distinct()
