"""Federated evaluations in the operators' REST API."""

from typing import cast

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.aged_api import AgedSerializer
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.federations.models import Federation
from coterie.fleet_evaluation import services
from coterie.fleet_evaluation.models import Evaluation, Part
from coterie.registry.models import ModelVersion

MOST_DEVICES = 100_000
LONGEST_S = 30 * 24 * 3600


class EvaluationPartSerializer(serializers.ModelSerializer[Part]):
    """One device's part in an evaluation."""

    device_name = serializers.CharField(source="device.name", read_only=True)

    class Meta:
        model = Part
        fields = [
            "id",
            "device",
            "device_name",
            "reported_at",
            "samples",
            "loss",
            "accuracy",
            "fault_code",
            "fault_sentence",
        ]
        read_only_fields = fields


class EvaluationSpreadSerializer(serializers.Serializer[None]):
    """One figure over devices, each counted once."""

    mean = serializers.FloatField()
    deciles = serializers.ListField(
        child=serializers.FloatField(), help_text="the 10 %, 20 %, … 90 % quantile, ascending"
    )
    worst = serializers.FloatField(help_text="of accuracies the lowest, of losses the highest")


class EvaluationSummarySerializer(serializers.Serializer[None]):
    """What a set of devices has measured."""

    devices = serializers.IntegerField()
    samples = serializers.IntegerField()
    loss = serializers.FloatField(help_text="mean over all samples of all devices")
    losses = EvaluationSpreadSerializer()
    accuracy = serializers.FloatField(
        allow_null=True, help_text="share of all samples that is right; null: the task has no right and wrong"
    )
    accuracies = EvaluationSpreadSerializer(allow_null=True)


class EvaluationFiguresSerializer(serializers.Serializer[None]):
    """What has come of an evaluation so far."""

    devices = serializers.IntegerField(help_text="devices that were asked")
    reports = serializers.IntegerField(help_text="devices that have told")
    faults = serializers.IntegerField(help_text="reports that say why the device cannot measure it")
    summary = EvaluationSummarySerializer(allow_null=True)
    by_tag = serializers.DictField(child=EvaluationSummarySerializer(), help_text="of the devices of each tag")


class EvaluationSerializer(AgedSerializer[Evaluation]):
    """A version that a sample of a federation's devices measures on samples that they hold out."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    pair = serializers.UUIDField(source="version.pair_id", read_only=True)
    version_number = serializers.IntegerField(source="version.number", read_only=True)
    figures = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            "id",
            "federation",
            "federation_slug",
            "pair",
            "version",
            "version_number",
            "tag",
            "devices_wanted",
            "reports_needed",
            "within_s",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "begun_at",
            "due_at",
            "ended_at",
            "figures",
            "answers_deleted_after_days",
        ]
        read_only_fields = fields

    @extend_schema_field(EvaluationFiguresSerializer(allow_null=True))
    def get_figures(self, evaluation: Evaluation) -> object:
        """Null before the first report."""
        return evaluation.figures or None


class EvaluationDetailSerializer(EvaluationSerializer):
    """An evaluation with every device's part in it."""

    parts = EvaluationPartSerializer(many=True, read_only=True)

    class Meta(EvaluationSerializer.Meta):
        fields = [*EvaluationSerializer.Meta.fields, "parts"]
        read_only_fields = fields


class StartEvaluationSerializer(serializers.Serializer[None]):
    """What to evaluate, and by whom."""

    version = serializers.PrimaryKeyRelatedField(
        queryset=ModelVersion.objects.select_related("pair"), help_text="any of a device model"
    )
    federation = serializers.PrimaryKeyRelatedField(
        queryset=Federation.objects.all(),
        allow_null=True,
        default=None,
        help_text="whose devices; null: of the one that moves the version's lineage",
    )
    tag = serializers.CharField(
        max_length=100, allow_blank=True, default="", help_text="devices that carry it; blank: any"
    )
    devices = serializers.IntegerField(
        min_value=1, max_value=MOST_DEVICES, default=50, help_text="size of the sample; of fewer that are there all"
    )
    reports = serializers.IntegerField(
        min_value=1, max_value=MOST_DEVICES, default=1, help_text="devices that must have measured it, else it fails"
    )
    within_s = serializers.IntegerField(
        min_value=1, max_value=LONGEST_S, default=24 * 3600, help_text="seconds that devices have, once asked"
    )


class EvaluationFilter(serializers.Serializer[None]):
    """Which evaluations to list."""

    federation = serializers.UUIDField(required=False)
    pair = serializers.UUIDField(required=False, source="version__pair")
    version = serializers.UUIDField(required=False)
    state = ChoiceField(Evaluation.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="planned or under way")


class EvaluationViewSet(ListedViewSet[Evaluation]):
    """Federated evaluations, youngest first."""

    queryset = Evaluation.objects.select_related("federation", "version")
    serializer_class = EvaluationSerializer
    detail_serializer_class = EvaluationDetailSerializer
    active_states = Evaluation.ACTIVE
    filters = EvaluationFilter
    sorts = {name: name for name in ("created_at", "begun_at", "ended_at")}
    searched = ("federation__slug", "reason_sentence", "tag")

    @extend_schema(responses=EvaluationDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """An evaluation with every device's part in it."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=StartEvaluationSerializer, responses={201: EvaluationSerializer})
    def create(self, request: Request) -> Response:
        """Have a sample of devices measure a version on samples that they hold out."""
        wanted = StartEvaluationSerializer(data=request.data)
        check_body(wanted)
        given = wanted.validated_data
        evaluation = services.start_evaluation(
            version=cast(ModelVersion, given["version"]),
            federation=cast("Federation | None", given["federation"]),
            tag=given["tag"],
            devices=given["devices"],
            reports=given["reports"],
            within_s=given["within_s"],
            now=timezone.now(),
        )
        return Response(EvaluationSerializer(evaluation).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=EvaluationSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, _request: Request, **_: str) -> Response:
        """Stop it; devices that still measure it stop, too."""
        evaluation = self.get_object()
        services.cancel_evaluation(evaluation=evaluation, now=timezone.now())
        return Response(EvaluationSerializer(evaluation).data)

    def get_queryset(self) -> QuerySet[Evaluation]:
        """A single evaluation comes with every device's part."""
        rows = super().get_queryset()
        return rows.prefetch_related("parts__device") if self.action == "retrieve" else rows
