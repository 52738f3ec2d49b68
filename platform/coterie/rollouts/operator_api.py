"""Roll-outs in the operators' REST API."""

from typing import cast

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.aged_api import AgedSerializer
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.core.why_api import WhyField, why_in
from coterie.registry.models import ModelVersion
from coterie.rollouts import services
from coterie.rollouts.models import Rollout, Trial


class TrialSerializer(serializers.ModelSerializer[Trial]):
    """One device's part in a roll-out."""

    device_name = serializers.CharField(source="device.name", read_only=True)

    class Meta:
        model = Trial
        fields = [
            "id",
            "device",
            "device_name",
            "phase",
            "reported_at",
            "samples",
            "champion_loss",
            "champion_accuracy",
            "candidate_loss",
            "candidate_accuracy",
            "agreement",
            "fault_code",
            "fault_sentence",
        ]
        read_only_fields = fields


class RolloutSerializer(AgedSerializer[Rollout]):
    """A version on its way to the devices of a federation."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    pair = serializers.UUIDField(source="version.pair_id", read_only=True)
    version_number = serializers.IntegerField(source="version.number", read_only=True)
    champion_number = serializers.IntegerField(source="champion.number", read_only=True, allow_null=True, default=None)
    terms = serializers.DictField(read_only=True, help_text="a kind of slot rollout")
    phase = serializers.IntegerField(read_only=True, help_text="the present one, from 0; in each more devices try it")
    phases = serializers.SerializerMethodField(help_text="how many there are")
    absent_since = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="since when too few of the phase's devices are there, so that its time stands still; null: enough",
    )
    due_at = serializers.DateTimeField(
        read_only=True, help_text="when the phase is judged by what there is, at the latest"
    )
    figures = serializers.DictField(
        read_only=True,
        help_text="devices, reports, faults; of the present phase alone phase_devices, phase_reports and phase_absent "
        "(devices that have not reported and do not check in); champion_error and candidate_error, or …_loss; where "
        "answers were compared shadowed, agreement, champion_p50_s, champion_p99_s and the candidate's",
    )

    def get_phases(self, rollout: Rollout) -> int:
        """By its terms."""
        return rollout.parsed_terms().phase_count()

    class Meta:
        model = Rollout
        fields = [
            "id",
            "federation",
            "federation_slug",
            "pair",
            "version",
            "version_number",
            "champion",
            "champion_number",
            "terms",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "begun_at",
            "phase",
            "phases",
            "phase_since",
            "absent_since",
            "due_at",
            "ended_at",
            "figures",
            "answers_deleted_after_days",
        ]
        read_only_fields = fields


class RolloutDetailSerializer(RolloutSerializer):
    """A roll-out with every device's part in it."""

    trials = TrialSerializer(many=True, read_only=True)

    class Meta(RolloutSerializer.Meta):
        fields = [*RolloutSerializer.Meta.fields, "trials"]
        read_only_fields = fields


class StartRolloutSerializer(serializers.Serializer[None]):
    """What to roll out, and how."""

    version = serializers.PrimaryKeyRelatedField(
        queryset=ModelVersion.objects.select_related("pair"), help_text="of a device model"
    )
    terms = serializers.DictField(
        default=dict,
        help_text="settings of kind canary: share, threshold, within_s, hold_s, absent_s, phases (each with a share "
        "and, where they differ, the other four of its own), tag, reports, shadow_within_s",
    )
    why = WhyField(help_text="stands in the audit log")


class DecisionSerializer(serializers.Serializer[None]):
    """A decision about a roll-out."""

    why = WhyField(help_text="stands in its reason")


class RolloutFilter(serializers.Serializer[None]):
    """Which roll-outs to list."""

    federation = serializers.UUIDField(required=False)
    pair = serializers.UUIDField(required=False, source="version__pair")
    version = serializers.UUIDField(required=False)
    state = ChoiceField(Rollout.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="planned or under way")


class RolloutViewSet(ListedViewSet[Rollout]):
    """Roll-outs, youngest first."""

    queryset = Rollout.objects.select_related("federation", "version", "champion")
    serializer_class = RolloutSerializer
    detail_serializer_class = RolloutDetailSerializer
    active_states = Rollout.ACTIVE
    filters = RolloutFilter
    sorts = {name: name for name in ("created_at", "begun_at", "ended_at")}
    searched = ("federation__slug", "reason_sentence")

    @extend_schema(responses=RolloutDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """A roll-out with every device's part in it."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=StartRolloutSerializer, responses={201: RolloutSerializer})
    def create(self, request: Request) -> Response:
        """Have a canary group try a version; it begins when the round that is held has ended."""
        wanted = StartRolloutSerializer(data=request.data)
        check_body(wanted)
        version = cast(ModelVersion, wanted.validated_data["version"])
        rollout = services.start_rollout(
            version=version,
            terms=wanted.validated_data["terms"],
            why=wanted.validated_data["why"],
            now=timezone.now(),
        )
        return Response(RolloutSerializer(rollout).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=DecisionSerializer, responses=RolloutSerializer)
    @action(detail=True, methods=["post"])
    def promote(self, request: Request, **_: str) -> Response:
        """Make the candidate the champion without waiting for the reports."""
        rollout = self.get_object()
        services.promote_rollout(rollout=rollout, why=why_in(request, DecisionSerializer), now=timezone.now())
        return Response(RolloutSerializer(rollout).data)

    @extend_schema(request=DecisionSerializer, responses=RolloutSerializer)
    @action(detail=True, methods=["post"], url_path="pass-phase")
    def pass_phase(self, request: Request, **_: str) -> Response:
        """Begin the next phase, whatever the present one has told; after the last the candidate is the champion."""
        rollout = self.get_object()
        services.pass_phase(rollout=rollout, why=why_in(request, DecisionSerializer), now=timezone.now())
        return Response(RolloutSerializer(rollout).data)

    @extend_schema(request=DecisionSerializer, responses=RolloutSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **_: str) -> Response:
        """Stop it; the canary group goes back to the champion."""
        rollout = self.get_object()
        services.cancel_rollout(rollout=rollout, why=why_in(request, DecisionSerializer), now=timezone.now())
        return Response(RolloutSerializer(rollout).data)

    def get_queryset(self) -> QuerySet[Rollout]:
        """A single roll-out comes with every device's part."""
        rows = super().get_queryset()
        return rows.prefetch_related("trials__device") if self.action == "retrieve" else rows
