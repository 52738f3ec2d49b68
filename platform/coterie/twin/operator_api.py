"""The twin in the operators' REST API: a fleet's past, what a plan would have done, and how good forecasts are."""

from collections.abc import Sequence
from statistics import median
from uuid import UUID

import msgspec
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts.permissions import SignedInToRead
from coterie.core.body import check_body
from coterie.federations.models import Federation
from coterie.federations.operator_api import ChangedPlanSerializer
from coterie.federations.services import check_plan_fits
from coterie.rounds.models import Round
from coterie.twin.models import Forecast
from coterie.twin.replay import HeldRound, Past, Ready, Rounds, check_replayed
from coterie.twin.selectors import LONGEST, calibration_of, forecasts_of, since_of, trace_of, update_bytes_of
from coterie_learning.plan import parse_plan

MOST_DAYS = LONGEST.days
LATEST = 50
"""Forecasts that are listed."""


class TraceSerializer(serializers.Serializer[None]):
    """A fleet's past, which names no device; as `coterie simulate --fleet` takes it."""

    begins_at = serializers.DateTimeField()
    lasts_s = serializers.FloatField()
    devices = serializers.IntegerField(help_text="that are told of")
    members = serializers.IntegerField(help_text="of the federation")
    batch_size = serializers.IntegerField()
    spans = serializers.JSONField(help_text="[device, from, until]: when it was ready, in seconds from the beginning")
    parts = serializers.JSONField(
        help_text="[device, asked, ending, lasted, trained, sent for so long, steps, samples, bytes]: a part in a round"
    )


class ReplayQuerySerializer(ChangedPlanSerializer):
    """What would this plan have done?"""

    plan = serializers.DictField(required=False, help_text="left out: the federation's own")
    days = serializers.FloatField(min_value=0.01, max_value=MOST_DAYS, default=7.0, help_text="back from now")
    rounds = serializers.IntegerField(min_value=1, max_value=500, default=100, help_text="at most")
    seed = serializers.IntegerField(min_value=0, default=0)


class HeldSerializer(serializers.Serializer[None]):
    """Some rounds, summed up."""

    rounds = serializers.IntegerField()
    merged = serializers.IntegerField()
    median_duration_s = serializers.FloatField(allow_null=True, help_text="from opening to closing; null: no round")
    asked = serializers.IntegerField(help_text="devices, each as often as it was")
    delivered = serializers.IntegerField()
    lost = serializers.IntegerField(help_text="gave up, fell silent, or sent what was wrong")
    up_bytes = serializers.IntegerField()


class ReplaySerializer(serializers.Serializer[None]):
    """What a plan would have done, beside what happened."""

    days = serializers.FloatField()
    devices = serializers.IntegerField(help_text="whose past this is from")
    replayed = HeldSerializer()
    happened = HeldSerializer()


class CalibrationSerializer(serializers.Serializer[None]):
    """How good forecasts of one figure were."""

    figure = serializers.CharField()
    rounds = serializers.IntegerField(help_text="that were compared, of the latest 50")
    median_error = serializers.FloatField(allow_null=True, help_text="of the middle, as a share of what happened")
    coverage = serializers.FloatField(allow_null=True, help_text="share inside the interval, which says 0.8")
    is_believed = serializers.BooleanField()
    sentence = serializers.CharField()


class ForecastSerializer(serializers.ModelSerializer[Forecast]):
    """What one round was expected to take, and took."""

    number = serializers.IntegerField(source="round.number", read_only=True)

    class Meta:
        model = Forecast
        fields = [
            "number",
            "made_at",
            "history",
            "duration_low_s",
            "duration_s",
            "duration_high_s",
            "happened_duration_s",
            "lost_low",
            "lost",
            "lost_high",
            "happened_lost",
            "up_bytes_low",
            "up_bytes",
            "up_bytes_high",
            "happened_up_bytes",
            "compared_at",
        ]
        read_only_fields = fields


class ForecastsSerializer(serializers.Serializer[dict[str, object]]):
    """Forecasts of a federation's rounds, and how good they are."""

    calibration = CalibrationSerializer(many=True)
    forecasts = ForecastSerializer(many=True, help_text="the latest, newest first")


DAYS = OpenApiParameter("days", float, description=f"back from now, at most {MOST_DAYS}")


class DaysSerializer(serializers.Serializer[None]):
    """How far to look back."""

    days = serializers.FloatField(min_value=0.01, max_value=MOST_DAYS, default=7.0)


class TraceView(APIView):
    """A fleet's past."""

    @extend_schema(responses=TraceSerializer, parameters=[DAYS], operation_id="federations_twin")
    def get(self, request: Request, pk: UUID) -> Response:
        """When devices were ready and how their parts in rounds went; it names none."""
        federation, asked = get_object_or_404(Federation, pk=pk), DaysSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        now = timezone.now()
        trace = trace_of(federation, since=since_of(now, asked.validated_data["days"]), until=now)
        return Response(msgspec.to_builtins(trace))


class ReplayView(APIView):
    """What would a plan have done? Nothing is written."""

    permission_classes: "list[type[BasePermission]]" = [SignedInToRead]

    @extend_schema(request=ReplayQuerySerializer, responses=ReplaySerializer, operation_id="federations_replay")
    def post(self, request: Request, pk: UUID) -> Response:
        """Rounds under the plan with the fleet's own past, and the rounds that were."""
        federation, query = get_object_or_404(Federation, pk=pk), ReplayQuerySerializer(data=request.data)
        check_body(query)
        asked = query.validated_data
        plan = parse_plan(asked["plan"]) if "plan" in asked else federation.parsed_plan()
        check_plan_fits(plan, federation.pair, federation.cloud_data)
        check_replayed(plan)
        now = timezone.now()
        since = since_of(now, asked["days"])
        trace = trace_of(federation, since=since, until=now)
        rounds = Rounds(plan, Past.of(trace), Ready(trace), update_bytes_of(federation, plan), asked["seed"])
        held = rounds.several(rounds=asked["rounds"], until_s=trace.lasts_s)
        were = federation.rounds.filter(opened_at__gte=since, closed_at__isnull=False).order_by("number")
        return Response(
            {
                "days": asked["days"],
                "devices": trace.devices,
                "replayed": _summed(held),
                "happened": _summed([_as_held(one) for one in were[: asked["rounds"]]]),
            }
        )


class ForecastsView(APIView):
    """What rounds were expected to take, and took."""

    @extend_schema(responses=ForecastsSerializer, operation_id="federations_forecasts")
    def get(self, _request: Request, pk: UUID) -> Response:
        """The latest forecasts, and how good they are."""
        federation = get_object_or_404(Federation, pk=pk)
        calibration = [{"figure": name, **one._asdict()} for name, one in calibration_of(federation).items()]
        latest = list(forecasts_of(federation)[:LATEST])
        return Response(ForecastsSerializer({"calibration": calibration, "forecasts": latest}).data)


def _as_held(round_: Round) -> HeldRound:
    assert round_.opened_at is not None and round_.closed_at is not None, "it has opened and closed"
    lasted_s = (round_.closed_at - round_.opened_at).total_seconds()
    parts = list(round_.assignments.select_related("update"))
    updates = [part.update for part in parts if part.update is not None]
    lost = sum(part.state in ("dropped", "rejected") for part in parts)
    merged, sent = round_.state == Round.State.PUBLISHED, sum(update.size_bytes for update in updates)
    return HeldRound(0.0, lasted_s, len(parts), len(updates), lost, merged, sent)


def _summed(held: Sequence[HeldRound]) -> dict[str, object]:
    return {
        "rounds": len(held),
        "merged": sum(one.is_merged for one in held),
        "median_duration_s": median(one.lasted_s for one in held) if held else None,
        "asked": sum(one.asked for one in held),
        "delivered": sum(one.delivered for one in held),
        "lost": sum(one.lost for one in held),
        "up_bytes": sum(one.up_bytes for one in held),
    }
