"""Federations, and the plans they may have, in the operators' REST API."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.archiving_api import ArchivedFilter, NotesField
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.federations import services
from coterie.federations.labels import Labels, labels_of
from coterie.federations.models import Federation
from coterie.federations.selectors import member_counts
from coterie_learning.plan import plan_document, plan_schema, preset_notes, presets

TOLERANCE = "accuracy that a candidate may lose against the champion and still be published, as a share of 1"
PATIENCE = "candidates in a row that may be kept back as worse; one more is published all the same; null: none is"
OWN_VERSIONS = (
    "versions of its own, which begin with the pair's: several such federations of a pair hold rounds at once"
)
ATTEMPTS = "candidates in a row that may be kept back before it pauses itself"


class FederationsSerializer(serializers.ListSerializer[Federation]):
    """Federations, whose members are counted for all of them at once."""

    child: "FederationSerializer"

    def to_representation(self, data: Iterable[Federation]) -> list[Any]:  # type: ignore[override]
        """Any: rows as the framework gives them."""
        rows = list(data)
        self.child.members_of = member_counts(rows)
        return super().to_representation(rows)


class FederationSerializer(serializers.ModelSerializer[Federation]):
    """A federation."""

    members_of: Mapping[UUID, int] | None = None
    """Counted already; None: each is counted by itself."""

    members = serializers.SerializerMethodField(help_text="enrolled devices that belong to it")
    lineage = serializers.SerializerMethodField(help_text="of its versions; blank: the pair's own")
    plan = serializers.DictField(required=False, default=dict, help_text="a kind in each slot; see plan-schema")
    tolerance = serializers.FloatField(min_value=0, max_value=1, default=0.02, help_text=TOLERANCE)
    patience = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, allow_null=True, default=None, help_text=PATIENCE
    )
    attempts = serializers.IntegerField(min_value=1, max_value=2**31 - 1, default=5, help_text=ATTEMPTS)
    own_versions = serializers.BooleanField(default=False, help_text=OWN_VERSIONS)
    seed = serializers.IntegerField(min_value=0, max_value=2**53, default=0)
    rounds_wanted = serializers.IntegerField(min_value=1, max_value=2**31 - 1, allow_null=True, default=None)
    notes = NotesField()

    class Meta:
        model = Federation
        list_serializer_class = FederationsSerializer
        fields = [
            "id",
            "name",
            "slug",
            "notes",
            "archived_at",
            "pair",
            "plan",
            "device_tag",
            "held_out",
            "cloud_data",
            "tolerance",
            "patience",
            "attempts",
            "kept_back",
            "own_versions",
            "lineage",
            "seed",
            "rounds_wanted",
            "state",
            "reason_code",
            "reason_sentence",
            "members",
            "created_at",
        ]
        read_only_fields = [
            "id",
            "slug",
            "archived_at",
            "state",
            "reason_code",
            "reason_sentence",
            "kept_back",
            "created_at",
        ]

    def get_members(self, federation: Federation) -> int:
        """Enrolled devices that belong to it."""
        counts = member_counts([federation]) if self.members_of is None else self.members_of
        return counts[federation.pk]

    def get_lineage(self, federation: Federation) -> str:
        """Of its versions."""
        return federation.lineage()


class ChangedPlanSerializer(serializers.Serializer[Federation]):
    """Another plan."""

    plan = serializers.DictField()


class ChangedFederationSerializer(serializers.Serializer[Federation]):
    """Another plan, other terms, another name, other notes; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    notes = NotesField()
    plan = serializers.DictField(required=False)
    instead_of = serializers.DictField(
        required=False, help_text="the plan that `plan` was made from: refused where it is another one by now"
    )
    tolerance = serializers.FloatField(min_value=0, max_value=1, required=False, help_text=TOLERANCE)
    patience = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, allow_null=True, required=False, help_text=PATIENCE
    )
    attempts = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, help_text=ATTEMPTS)


class FederationFilter(ArchivedFilter):
    """Which federations to list."""

    state = ChoiceField(Federation.State.choices, required=False)
    pair = serializers.UUIDField(required=False)


class FederationRows(ListedViewSet[Federation]):
    """Which federations are listed, and in what order."""

    queryset = Federation.objects.all()
    filters = FederationFilter
    sorts = {name: name for name in ("name", "state", "created_at")}
    searched = ("name", "slug", "device_tag")

    def narrowed(self, rows: QuerySet[Federation], query: QueryParameters) -> QuerySet[Federation]:
        """By its columns, and by whether it is archived."""
        archived, others = query["archived"], {name: value for name, value in query.items() if name != "archived"}
        return rows.filter(archived_at__isnull=not archived, **others)


class LabelsSerializer(serializers.Serializer[Labels]):
    """Labels of a federation's devices, summed."""

    telling = serializers.IntegerField(help_text="devices that tell more than that their samples came with labels")
    given = serializers.IntegerField(help_text="samples that came with their label")
    asked = serializers.IntegerField(help_text="samples whose label an owner said when asked")
    implied = serializers.IntegerField(help_text="samples whose label a program on the device saw happen")
    unlabelled = serializers.IntegerField(help_text="samples without a label, of which owners may be asked")
    questions = serializers.IntegerField(help_text="that owners were asked")
    answers = serializers.IntegerField(help_text="of these; the others were skipped, or are open")


class FederationViewSet(FederationRows):
    """Federations."""

    serializer_class = FederationSerializer

    @extend_schema(request=FederationSerializer, responses={201: FederationSerializer})
    def create(self, request: Request) -> Response:
        """A federation that waits to be started."""
        wanted = FederationSerializer(data=request.data)
        check_body(wanted)
        federation = services.create_federation(**wanted.validated_data, now=timezone.now())
        return Response(FederationSerializer(federation).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ChangedFederationSerializer, responses=FederationSerializer)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Another plan, from the next round on, other terms to judge candidates by, another name, other notes."""
        federation = get_object_or_404(Federation, pk=pk)
        given = ChangedFederationSerializer(data=request.data)
        check_body(given)
        changes = dict(given.validated_data)
        plan, instead_of = changes.pop("plan", None), changes.pop("instead_of", None)
        described = {name: changes.pop(name) for name in ("name", "notes") if name in changes}
        with transaction.atomic():
            if plan is not None:
                services.change_plan(federation=federation, plan=plan, instead_of=instead_of)
            if described:
                services.describe_federation(federation=federation, **described)
            if changes:
                services.change_terms(federation=federation, **changes)
        return Response(FederationSerializer(federation).data)

    @extend_schema(responses=LabelsSerializer)
    @action(detail=True, methods=["get"])
    def labels(self, _request: Request, pk: UUID) -> Response:
        """Where the labels of its devices are from, and what they cost their owners."""
        return Response(LabelsSerializer(labels_of(get_object_or_404(Federation, pk=pk))).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def start(self, _request: Request, pk: UUID) -> Response:
        """Hold rounds from now on."""
        federation = get_object_or_404(Federation, pk=pk)
        services.start_federation(federation=federation, now=timezone.now())
        return Response(FederationSerializer(federation).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, _request: Request, pk: UUID) -> Response:
        """Open no further round until it is started again; the one that is open comes to its end."""
        federation = get_object_or_404(Federation, pk=pk)
        services.pause_federation(federation=federation, now=timezone.now())
        return Response(FederationSerializer(federation).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def finish(self, _request: Request, pk: UUID) -> Response:
        """Open no further round, for good."""
        federation = get_object_or_404(Federation, pk=pk)
        services.finish_federation(federation=federation, now=timezone.now())
        return Response(FederationSerializer(federation).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def archive(self, _request: Request, pk: UUID) -> Response:
        """Leave it out of lists; only a draft, or one that has finished."""
        federation = get_object_or_404(Federation, pk=pk)
        services.archive_federation(federation=federation, now=timezone.now())
        return Response(FederationSerializer(federation).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def restore(self, _request: Request, pk: UUID) -> Response:
        """Have lists show it again."""
        federation = get_object_or_404(Federation, pk=pk)
        services.restore_federation(federation=federation)
        return Response(FederationSerializer(federation).data)

    @extend_schema(request=None, responses=FederationSerializer)
    @action(detail=True, methods=["post"])
    def adopt(self, _request: Request, pk: UUID) -> Response:
        """Make its own versions the pair's, as those of the winner of an A/B trial."""
        federation = get_object_or_404(Federation, pk=pk)
        services.adopt_versions(federation=federation, now=timezone.now())
        return Response(FederationSerializer(federation).data)


class PlanSchemaView(APIView):
    """What a plan may say."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, _request: Request) -> Response:
        """JSON schema of every kind, by slot."""
        return Response(plan_schema())


class PresetsView(APIView):
    """Published systems as plans."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, _request: Request) -> Response:
        """Plans by name."""
        return Response({name: plan_document(plan) for name, plan in presets().items()})


class PresetNotesView(APIView):
    """What to know before one chooses a preset."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, _request: Request) -> Response:
        """By name, lines of text: the paper, what it is for, and when it loses."""
        return Response(preset_notes())
