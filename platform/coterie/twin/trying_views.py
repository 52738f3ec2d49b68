"""Plans that are tried before they meet the fleet, in the operators' REST API."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.operator_api import TrainingJobSerializer
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.figured_api import FIGURED, SORTS, FiguredSerializer
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.federations.models import Federation
from coterie.registry.models import Dataset
from coterie.twin.operator_api import CalibrationSerializer
from coterie.twin.selectors import TriedPlan, calibration_of_plans, compared_of, tried_of
from coterie.twin.services import PlanTrial, try_plan
from coterie.twin.shipped import PROFILES, SCENARIOS

SIMULATIONS = TrainingJob.objects.filter(kind=TrainingJob.Kind.SIMULATION)
LATEST = 10
"""Forecasts of plans that are listed."""
SPLIT = r"^(iid|dirichlet:[0-9.]+|pathological:[0-9]+)$"
DRIFT = r"^(steady|introduced:[0-9.]+)$"


class TryPlanSerializer(serializers.Serializer[None]):
    """Which plan to try, on what and for how long."""

    plan = serializers.DictField(required=False, help_text="left out: the federation's own")
    dataset = serializers.PrimaryKeyRelatedField(
        queryset=Dataset.objects.all(),
        allow_null=True,
        default=None,
        help_text="samples for the pair's device model; a fifth is held out to judge versions, the rest is divided",
    )
    scenario = ChoiceField(
        SCENARIOS, allow_null=True, default=None, help_text="samples by device that are shipped, instead of a data set"
    )
    split = serializers.RegexField(
        SPLIT,
        default="dirichlet:0.5",
        help_text="how a data set is divided among devices: iid, dirichlet:ALPHA or pathological:SHARDS",
    )
    each = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        allow_null=True,
        default=None,
        help_text="samples that each device draws with replacement; null: the data set is divided",
    )
    profile = ChoiceField(
        PROFILES, allow_null=True, default=None, help_text="a shipped fleet; null: this one, from its past"
    )
    devices = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        allow_null=True,
        default=None,
        help_text="null: as many as the federation has; where it has none, as a round wants, or 10 without rounds",
    )
    rounds = serializers.IntegerField(min_value=1, max_value=1000, default=20, help_text="at most")
    days = serializers.FloatField(min_value=0.01, max_value=60, default=14.0, help_text="of simulated time, at most")
    drift = serializers.RegexField(
        DRIFT,
        allow_null=True,
        default=None,
        help_text="samples come over the days: steady, or introduced:SHARE, where on so many devices a class is new in "
        "the second half; null: devices have them all from the beginning",
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**53, default=0)


class RangeSerializer(serializers.Serializer[None]):
    """Between low and high lie four of five."""

    low = serializers.FloatField()
    middle = serializers.FloatField()
    high = serializers.FloatField()


class ExpectedRoundSerializer(serializers.Serializer[None]):
    """One round that is expected."""

    number = serializers.IntegerField(help_text="from 1")
    draws = serializers.IntegerField(help_text="that held it")
    ended_s = serializers.FloatField(help_text="when it ends, in seconds since the plan began; median")
    accuracy = RangeSerializer(help_text="of the version in use after it, on samples held out")


class ExpectedMomentSerializer(serializers.Serializer[None]):
    """Some time in which samples come."""

    ends_s = serializers.FloatField(help_text="in seconds since the plan began")
    accuracy = RangeSerializer(help_text="of predictions, mean over devices")


class ExpectedSerializer(serializers.Serializer[None]):
    """What a plan is expected to do; figures of a round are those of all rounds of all draws; null: it holds none."""

    rounds = ExpectedRoundSerializer(many=True)
    duration_s = RangeSerializer(allow_null=True, help_text="of a round, from its opening to its closing")
    lost = RangeSerializer(allow_null=True, help_text="devices of a round that gave up or fell silent")
    up_bytes = RangeSerializer(allow_null=True, help_text="that the devices of a round send")
    merged_share = serializers.FloatField(allow_null=True, help_text="of rounds")
    moments = ExpectedMomentSerializer(
        many=True, help_text="with a drift, how right predictions are before devices learn from the samples; else empty"
    )
    accuracy = RangeSerializer(help_text="of the last version; with a drift, of all predictions")
    device_accuracy_median = RangeSerializer(
        allow_null=True, help_text="the same over devices, on samples of their own; null: not measured"
    )
    device_accuracy_worst_decile = RangeSerializer(allow_null=True, help_text="mean over the worst tenth of devices")
    begins_with = serializers.FloatField(help_text="accuracy of the version that devices begin with, on all samples")
    bytes_per_device = RangeSerializer(help_text="up and down, over all rounds, of a device that took part")
    joules_per_device = RangeSerializer(help_text="radio and processor, of a device that took part")
    participants = RangeSerializer(help_text="devices whose update counted at least once")
    simulated_s = serializers.FloatField()
    devices = serializers.IntegerField()
    samples = serializers.IntegerField()
    held_out = serializers.IntegerField()
    draws = serializers.IntegerField(help_text="simulations that differ in their seed alone")
    durations = serializers.CharField(help_text="replayed (the fleet's own past) or simulated (a profile)")
    executor_reason = serializers.CharField(help_text="why devices trained one by one; blank: they did not")


class HappenedSerializer(serializers.Serializer[None]):
    """A round that was held under the plan since."""

    number = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    duration_s = serializers.FloatField()
    lost = serializers.IntegerField()
    up_bytes = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True, help_text="null: it has no version, or no data are held out")
    is_merged = serializers.BooleanField()


class PlanForecastSerializer(serializers.Serializer[None]):
    """A plan that was tried, what it is expected to do, and the rounds that then happened."""

    job = TrainingJobSerializer()
    plan = serializers.DictField()
    dataset_name = serializers.CharField(help_text="blank: a scenario")
    scenario = serializers.CharField(allow_null=True)
    split = serializers.CharField()
    each = serializers.IntegerField(allow_null=True)
    profile = serializers.CharField(allow_null=True, help_text="null: the fleet's own past")
    profile_reason = serializers.CharField(help_text="why it is not the fleet's own past, where that was wanted")
    devices = serializers.IntegerField()
    rounds = serializers.IntegerField()
    days = serializers.FloatField()
    drift = serializers.CharField(allow_null=True, help_text="null: devices have all samples from the beginning")
    cloud_version = serializers.UUIDField(allow_null=True, help_text="the cloud model it begins with; null: none")
    seed = serializers.IntegerField()
    after_round = serializers.IntegerField(help_text="the last round before it was tried")
    expected = ExpectedSerializer(allow_null=True, help_text="null: it is not done, or did not end well")
    happened = HappenedSerializer(many=True, help_text="the first is compared with the first that was expected")


class PlanForecastsSerializer(serializers.Serializer[None]):
    """Plans that were tried, and how good what was expected of them is."""

    calibration = CalibrationSerializer(many=True, help_text="accuracy, duration_s, lost and up_bytes")
    forecasts = PlanForecastSerializer(many=True, help_text="the latest, newest first")


class TriedPlanSerializer(FiguredSerializer[TrainingJob]):
    """A plan that was tried, how far that is, and a few figures of what is expected of it."""

    federation_name = serializers.CharField(source="federation.name", read_only=True)
    pair_slug = serializers.CharField(source="pair.slug", read_only=True)
    dataset_name = serializers.CharField(
        source="dataset.name", default="", read_only=True, help_text="blank: a scenario"
    )
    scenario = serializers.CharField(source="options.scenario", default=None, read_only=True, allow_null=True)
    profile = serializers.CharField(
        source="options.profile", default=None, read_only=True, allow_null=True, help_text="null: the fleet's own past"
    )
    devices = serializers.IntegerField(source="options.devices", read_only=True)
    rounds = serializers.IntegerField(source="options.rounds", default=20, read_only=True, help_text="at most")

    class Meta:
        model = TrainingJob
        fields = [
            "id",
            "federation",
            "federation_name",
            "pair",
            "pair_slug",
            "dataset",
            "dataset_name",
            "scenario",
            "profile",
            "devices",
            "rounds",
            "progress_sentence",
            *FIGURED,
        ]
        read_only_fields = fields


class TriedPlanFilter(serializers.Serializer[None]):
    """Which to list."""

    federation = serializers.UUIDField(required=False)
    state = ChoiceField(TrainingJob.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="waits or runs")


class TriedPlanViewSet(ListedViewSet[TrainingJob]):
    """Plans of all federations that were tried on simulated fleets; each is a job, which is cancelled as one."""

    queryset = SIMULATIONS.select_related("federation", "pair", "dataset")
    serializer_class = TriedPlanSerializer
    filters = TriedPlanFilter
    active_states = TrainingJob.ACTIVE
    searched = ("federation__name", "pair__name", "pair__slug", "dataset__name", "asked_by", "reason_sentence")
    sorts = SORTS

    def narrowed(self, rows: QuerySet[TrainingJob], query: QueryParameters) -> QuerySet[TrainingJob]:
        """Without what was found, which a list does not show and which may be large."""
        return super().narrowed(rows, query).defer("found", "curve")

    @extend_schema(responses=PlanForecastSerializer)
    def retrieve(self, _request: Request, pk: UUID) -> Response:
        """What is expected of the plan, beside the rounds that then happened."""
        job = get_object_or_404(SIMULATIONS.select_related("federation", "pair", "dataset"), pk=pk)
        assert job.federation is not None, "simulations have one"
        return Response(_shown(compared_of(job.federation, [job])[0]))


class PlanForecastsView(APIView):
    """Plans that are tried on a simulated fleet, before they meet the real one."""

    @extend_schema(responses=PlanForecastsSerializer, operation_id="federations_plan_forecasts")
    def get(self, _request: Request, pk: UUID) -> Response:
        """The latest, beside the rounds that then happened, and how good they are."""
        tried = tried_of(get_object_or_404(Federation, pk=pk), latest=LATEST)
        calibration = [{"figure": name, **one._asdict()} for name, one in calibration_of_plans(tried).items()]
        return Response({"calibration": calibration, "forecasts": [_shown(one) for one in tried]})

    @extend_schema(
        request=TryPlanSerializer, responses={201: PlanForecastSerializer}, operation_id="federations_try_plan"
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Try a plan with the federation's pair, on samples and a fleet, as a job that can be cancelled."""
        federation, wanted = get_object_or_404(Federation, pk=pk), TryPlanSerializer(data=request.data)
        check_body(wanted)
        asked = dict(wanted.validated_data)
        plan = asked.pop("plan", None)
        try_plan(federation=federation, plan=plan, trial=PlanTrial(**asked), now=timezone.now())
        return Response(_shown(tried_of(federation, latest=1)[0]), status=status.HTTP_201_CREATED)


def _shown(tried: TriedPlan) -> Mapping[str, object]:
    job, options, expected, happened = tried
    return {
        **msgspec.to_builtins(options),
        "job": TrainingJobSerializer(job).data,
        "dataset_name": "" if job.dataset is None else job.dataset.name,
        "expected": None if expected is None else msgspec.to_builtins(expected),
        "happened": [one._asdict() for one in happened],
    }
