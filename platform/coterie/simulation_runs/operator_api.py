"""Simulation runs in the operators' REST API."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.cloud.fleet_run_job import RunRequest
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.figured_api import FIGURED, SORTS, FiguredSerializer
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.core.uploaded import on_disk
from coterie.core.why_api import WhyField, why_in
from coterie.simulation_runs import services
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun

MOST = 500
"""Runs that are asked for at once."""


class SimulatedFleetSerializer(serializers.ModelSerializer[SimulatedFleet]):
    """What the runs of a sweep have in common."""

    class Meta:
        model = SimulatedFleet
        fields = ["id", "pair_name", "data_name", "devices", "created_at", "used_at"]
        read_only_fields = fields


class SubmittedFleetSerializer(serializers.Serializer[SimulatedFleet]):
    """A fleet as a form with a file."""

    file = serializers.FileField(help_text="as `coterie simulate --on platform` writes it")


class WantedRunSerializer(serializers.Serializer[None]):
    """A run that is wanted."""

    plan = serializers.DictField(help_text="one kind in each slot; what is left out has its default")
    seed = serializers.IntegerField(min_value=0, max_value=2**53)
    rounds = serializers.IntegerField(min_value=1, max_value=1_000_000)
    evaluate_every = serializers.IntegerField(
        min_value=1, max_value=1_000_000, default=1, help_text="rounds from one measurement of a version to the next"
    )
    ends_s = serializers.FloatField(
        allow_null=True,
        default=None,
        help_text="where samples come over time, when it ends already; null: with the last of them",
    )


class WantedRunsSerializer(serializers.Serializer[None]):
    """Runs that are wanted."""

    runs = serializers.ListField(child=WantedRunSerializer(), min_length=1, max_length=MOST)


class SimulationRunSerializer(FiguredSerializer[SimulationRun]):
    """A run, how far it is, and a few figures of what it found."""

    wanted = WantedRunSerializer(read_only=True)
    pair_name = serializers.CharField(source="fleet.pair_name", read_only=True)
    data_name = serializers.CharField(source="fleet.data_name", read_only=True)
    devices = serializers.IntegerField(
        source="fleet.devices", read_only=True, allow_null=True, help_text="null: as many as the split makes"
    )

    class Meta:
        model = SimulationRun
        fields = ["id", "fleet", "pair_name", "data_name", "devices", "wanted", "attempts", *FIGURED]
        read_only_fields = fields


class SimulationRunDetailSerializer(SimulationRunSerializer):
    """A run with what it found."""

    class Meta(SimulationRunSerializer.Meta):
        fields = [*SimulationRunSerializer.Meta.fields, "outcome"]
        read_only_fields = fields


class CancelRunSerializer(serializers.Serializer[None]):
    """Why a run is cancelled."""

    why = WhyField(help_text="stands in the run's reason")


class RunFilter(serializers.Serializer[None]):
    """Which runs to list."""

    fleet = serializers.UUIDField(required=False)
    state = ChoiceField(choices=SimulationRun.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="waits or runs")


class SimulatedFleetViewSet(ListedViewSet[SimulatedFleet]):
    """Simulated fleets that engineers gave; what nobody uses for two weeks is removed."""

    queryset = SimulatedFleet.objects.all()
    serializer_class = SimulatedFleetSerializer
    sorts = {name: name for name in ("created_at", "used_at")}
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": SubmittedFleetSerializer}, responses={201: SimulatedFleetSerializer})
    def create(self, request: Request) -> Response:
        """Upload the file of a fleet; the same file is one fleet."""
        submitted = SubmittedFleetSerializer(data=request.data)
        check_body(submitted)
        with on_disk(submitted.validated_data["file"]) as path:
            fleet = services.keep_fleet(path=path, now=timezone.now())
        return Response(SimulatedFleetSerializer(fleet).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, pk: UUID) -> Response:
        """Remove a fleet with its runs; what is being performed ends within seconds."""
        services.remove_fleet(fleet=get_object_or_404(SimulatedFleet, pk=pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


class AskForRunsView(APIView):
    """Runs of a simulated fleet."""

    @extend_schema(
        request=WantedRunsSerializer,
        responses={201: SimulationRunSerializer(many=True)},
        operation_id="simulated_fleets_runs",
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Ask for runs, in their order: those that are there are found, what failed or was cancelled is tried again."""
        fleet, asked = get_object_or_404(SimulatedFleet, pk=pk), WantedRunsSerializer(data=request.data)
        check_body(asked)
        wanted = [RunRequest(**one) for one in asked.validated_data["runs"]]
        runs = services.ask_for_runs(fleet=fleet, wanted=wanted, now=timezone.now())
        return Response(SimulationRunSerializer(runs, many=True).data, status=status.HTTP_201_CREATED)


class SimulationRunViewSet(ListedViewSet[SimulationRun]):
    """Runs of simulated fleets, which the platform's workers perform."""

    queryset = SimulationRun.objects.select_related("fleet")
    serializer_class = SimulationRunSerializer
    detail_serializer_class = SimulationRunDetailSerializer
    filters = RunFilter
    active_states = SimulationRun.ACTIVE
    searched = ("fleet__pair_name", "fleet__data_name", "asked_by", "reason_sentence")
    sorts = SORTS

    def narrowed(self, rows: QuerySet[SimulationRun], query: QueryParameters) -> QuerySet[SimulationRun]:
        """Without outcomes, which a list does not show and which may be large."""
        return super().narrowed(rows, query).defer("outcome")

    @extend_schema(request=CancelRunSerializer, responses=SimulationRunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **_: str) -> Response:
        """Stop it; what it has done is kept, and it goes on from there if it is asked for again."""
        run = self.get_object()
        services.cancel_run(run=run, why=why_in(request, CancelRunSerializer), now=timezone.now())
        return Response(SimulationRunSerializer(run).data)
