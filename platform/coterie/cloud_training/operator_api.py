"""Cloud training in the operators' REST API."""

from collections.abc import Callable
from typing import get_args
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.cloud.bootstrap_job import Precision
from coterie.cloud.strategies import DEFAULT_STRATEGY, strategy_schema
from coterie.cloud_training import services
from coterie.cloud_training.curve import Point, read_curve
from coterie.cloud_training.models import JobLine, TrainingJob
from coterie.cloud_training.options import QuantiseOptions, TrainingOptions
from coterie.cluster.launchers import LAUNCHERS
from coterie.cluster.models import Gang, GangShare
from coterie.cluster.schedule import NAMING, Device
from coterie.cluster.selectors import Launcher, gang_of, launchers
from coterie.core.acting import current_actor
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.core.why_api import WhyField, why_in
from coterie.registry.models import Dataset, ModelPair, ModelVersion
from coterie_wire.structs import from_values

DEFAULTS = TrainingOptions()


class TrainingJobSerializer(serializers.ModelSerializer[TrainingJob]):
    """A training job."""

    pair_slug = serializers.CharField(source="pair.slug", read_only=True)
    pair_name = serializers.CharField(source="pair.name", read_only=True)
    attempt = serializers.IntegerField(source="attempts", read_only=True)
    error_code = serializers.CharField(source="reason_code", read_only=True)
    error_sentence = serializers.CharField(source="reason_sentence", read_only=True)

    class Meta:
        model = TrainingJob
        fields = [
            "id",
            "kind",
            "pair",
            "pair_slug",
            "pair_name",
            "dataset",
            "version",
            "federation",
            "options",
            "state",
            "progress",
            "progress_sentence",
            "left_s",
            "launcher",
            "launcher_state",
            "launcher_sentence",
            "attempt",
            "error_code",
            "error_sentence",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields


class JobLineSerializer(serializers.ModelSerializer[JobLine]):
    """A line of a job's log."""

    class Meta:
        model = JobLine
        fields = ["id", "at", "text"]
        read_only_fields = fields


class EpochPointSerializer(serializers.Serializer[Point]):
    """An epoch of the cloud model's training."""

    epoch = serializers.IntegerField(help_text="from 1")
    at = serializers.DateTimeField()
    values = serializers.DictField(
        child=serializers.FloatField(),
        help_text="losses, accuracy, samples_per_second, communication_share (0 to 1), sent_bytes and workers",
    )


class JobShareSerializer(serializers.Serializer[GangShare]):
    """The workers of a job that one host leads or runs."""

    host = serializers.CharField(source="host_id")
    ranks = serializers.IntegerField(help_text="how many workers")
    gpus = serializers.ListField(
        child=serializers.IntegerField(), help_text="numbers of the host's GPUs, one for each worker; none: cores"
    )
    launcher = serializers.CharField(source="host.launcher", help_text="who starts them: here, kubernetes or slurm")


class JobWorkersSerializer(serializers.Serializer[Gang]):
    """The workers of a job: where they are, or why they wait."""

    ranks = serializers.IntegerField(help_text="how many; all have places, or none")
    launcher_wanted = serializers.CharField(
        source="launcher", help_text="who is to start them: here, kubernetes, slurm; blank: whoever has room"
    )
    state = ChoiceField(Gang.State.choices)
    reason_code = serializers.CharField(help_text="why they wait or leave; blank: they do neither")
    reason_sentence = serializers.SerializerMethodField()
    since = serializers.DateTimeField(help_text="when they came to wait, of late")
    placed_at = serializers.DateTimeField(allow_null=True)
    shares = JobShareSerializer(many=True, help_text="the first of them leads")

    def get_reason_sentence(self, gang: Gang) -> str:
        """Sentences name jobs of other projects, which only who has a role in the installation may read."""
        if gang.reason_code in NAMING and current_actor().installation_role() is None:
            return "waits for its turn: jobs of others come first"
        return gang.reason_sentence


class LauncherSerializer(serializers.Serializer[Launcher]):
    """Who starts workers of training jobs."""

    name = ChoiceField(
        LAUNCHERS, help_text="here: hosts do, in children or with other hosts by their queues; or another scheduler"
    )
    hosts = serializers.IntegerField(help_text="hosts that are present and have their workers started so")
    places = serializers.IntegerField(help_text="workers that those take at a time, together")


class CancelJobSerializer(serializers.Serializer[None]):
    """Why a job is cancelled."""

    why = WhyField(help_text="stands in the job's reason")


class TrainingJobFilter(serializers.Serializer[None]):
    """Which jobs to list."""

    pair = serializers.UUIDField(required=False)
    kind = ChoiceField(TrainingJob.Kind.choices, required=False)
    state = ChoiceField(TrainingJob.State.choices, required=False)


class TrainingJobViewSet(ListedViewSet[TrainingJob]):
    """Pre-flights, bootstraps, distillations, quantisations and simulations."""

    queryset = TrainingJob.objects.select_related("pair")
    serializer_class = TrainingJobSerializer
    filters = TrainingJobFilter
    sorts = {name: name for name in ("kind", "state", "created_at", "started_at", "finished_at")}
    searched = ("pair__name", "pair__slug", "reason_sentence")

    @extend_schema(responses=JobLineSerializer(many=True), operation_id="jobs_log")
    @action(detail=True)
    def log(self, _request: Request, pk: UUID) -> Response:
        """Its log, oldest line first, a page at a time."""
        return self.page_of(get_object_or_404(TrainingJob, pk=pk).lines.all(), JobLineSerializer)

    @extend_schema(responses=EpochPointSerializer(many=True), operation_id="jobs_curve", filters=False)
    @action(detail=True, pagination_class=None)
    def curve(self, _request: Request, pk: UUID) -> Response:
        """The epochs of the cloud model's training so far, at most 400 of them."""
        points = read_curve(get_object_or_404(TrainingJob, pk=pk).curve)
        return Response([EpochPointSerializer(point).data for point in points])

    @extend_schema(responses=JobWorkersSerializer, operation_id="jobs_workers", filters=False)
    @action(detail=True, pagination_class=None)
    def workers(self, _request: Request, pk: UUID) -> Response:
        """Where its workers are and who starts them, or why they wait."""
        gang = gang_of(get_object_or_404(TrainingJob, pk=pk).pk)
        if gang is None:
            raise Http404
        return Response(JobWorkersSerializer(gang).data)

    @extend_schema(request=CancelJobSerializer, responses=TrainingJobSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: UUID) -> Response:
        """Stop it."""
        job = get_object_or_404(TrainingJob, pk=pk)
        services.cancel_job(job=job, why=why_in(request, CancelJobSerializer), now=timezone.now())
        return Response(TrainingJobSerializer(job).data)

    @extend_schema(request=None, responses={201: TrainingJobSerializer})
    @action(detail=True, methods=["post"])
    def retry(self, _request: Request, pk: UUID) -> Response:
        """Run what failed or was cancelled again, as a new job; a rejected pair is submitted anew instead."""
        job = services.retry_job(job=get_object_or_404(TrainingJob, pk=pk), now=timezone.now())
        return Response(TrainingJobSerializer(job).data, status=status.HTTP_201_CREATED)


class DistillSerializer(serializers.Serializer[TrainingJob]):
    """What to distil a pair's device model with, and how."""

    dataset = serializers.PrimaryKeyRelatedField(queryset=Dataset.objects.all())
    distil_epochs = serializers.IntegerField(
        min_value=1, max_value=10_000, default=DEFAULTS.distil_epochs, help_text="most passes, for the device model"
    )
    distil_learning_rate = serializers.FloatField(
        min_value=1e-9, max_value=10, default=DEFAULTS.distil_learning_rate, help_text="step size of the device model"
    )
    label_weight = serializers.FloatField(
        min_value=0,
        max_value=1,
        default=DEFAULTS.label_weight,
        help_text="weight of the labels for the device model; the rest is the cloud model's",
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**53, default=DEFAULTS.seed)
    team = serializers.CharField(
        max_length=40, allow_blank=True, default=DEFAULTS.team, help_text="whose quota of the cluster it uses"
    )
    priority = serializers.IntegerField(
        min_value=0,
        max_value=9,
        default=DEFAULTS.priority,
        help_text="a job of a higher one has its team's lower ones save a checkpoint and make room",
    )


class BootstrapSerializer(DistillSerializer):
    """What to train a pair with, and how."""

    epochs = serializers.IntegerField(
        min_value=1,
        max_value=10_000,
        default=DEFAULTS.epochs,
        help_text="most passes over the data, for the cloud model",
    )
    learning_rate = serializers.FloatField(
        min_value=1e-9, max_value=10, default=DEFAULTS.learning_rate, help_text="step size of the cloud model's AdamW"
    )
    batch_size = serializers.IntegerField(
        min_value=1, max_value=65_536, default=DEFAULTS.batch_size, help_text="samples in a step of the cloud model"
    )
    least_gain = serializers.FloatField(
        min_value=0,
        max_value=1,
        default=DEFAULTS.least_gain,
        help_text="share of its least loss that the cloud model's remaining epochs must promise, such as 0.001, or the "
        "job ends with the best so far; 0: it ends for no curve",
    )
    device = ChoiceField(
        get_args(Device),
        default=DEFAULTS.device,
        help_text="what the cloud model's workers compute on; auto: one that is alone takes a GPU where one is free, "
        "several share cores; gpus: each waits for one",
    )
    precision = ChoiceField(
        get_args(Precision),
        default=DEFAULTS.precision,
        help_text="of the cloud model's matrix products in training; bf16 is quicker on GPUs that have it",
    )
    compiled = serializers.BooleanField(
        default=DEFAULTS.compiled,
        help_text="compile the cloud model's passes (torch.compile); pays where steps are many",
    )
    launcher = ChoiceField(
        ("any", *LAUNCHERS),
        default=DEFAULTS.launcher,
        help_text="who starts the workers: any that has room; here: hosts do, by themselves or with others by their "
        "queues; or the scheduler of another cluster; see launchers",
    )
    strategy = serializers.JSONField(
        default=dict(DEFAULT_STRATEGY),
        help_text="how the cloud model's training is spread over processes, as JSON; see strategy-schema",
    )


class StrategySchemaView(APIView):
    """How training can be spread over processes."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, _request: Request) -> Response:
        """JSON schema of every strategy by its name."""
        return Response(strategy_schema())


class LaunchersView(APIView):
    """Who starts workers."""

    @extend_schema(responses=LauncherSerializer(many=True), operation_id="launchers", filters=False)
    def get(self, _request: Request) -> Response:
        """The launchers of the hosts that are present."""
        return Response([LauncherSerializer(one).data for one in launchers(timezone.now())])


class BootstrapView(APIView):
    """The first training of a pair."""

    @extend_schema(request=BootstrapSerializer, responses={201: TrainingJobSerializer})
    def post(self, request: Request, pk: UUID) -> Response:
        """Train the cloud model on a data set, then distil the first device model from it."""
        return _submitted(BootstrapSerializer(data=request.data), services.bootstrap_pair, pk)


class DistillView(APIView):
    """A device model from the cloud model in use."""

    @extend_schema(request=DistillSerializer, responses={201: TrainingJobSerializer})
    def post(self, request: Request, pk: UUID) -> Response:
        """Distil the next device model from the cloud model in use, as from one that was uploaded trained."""
        return _submitted(DistillSerializer(data=request.data), services.distill_pair, pk)


def _submitted(wanted: DistillSerializer, ask: Callable[..., TrainingJob], pk: UUID) -> Response:
    pair = get_object_or_404(ModelPair, pk=pk)
    check_body(wanted)
    options = dict(wanted.validated_data)
    dataset = options.pop("dataset")
    job = ask(pair=pair, dataset=dataset, options=from_values(options, TrainingOptions), now=timezone.now())
    return Response(TrainingJobSerializer(job).data, status=status.HTTP_201_CREATED)


class QuantiseSerializer(serializers.Serializer[TrainingJob]):
    """What to measure an int8 form with, and what it may cost."""

    dataset = serializers.PrimaryKeyRelatedField(
        queryset=Dataset.objects.all(), help_text="held-out samples; a quarter calibrates, the rest measures"
    )
    max_loss_points = serializers.FloatField(
        min_value=0,
        max_value=100,
        default=QuantiseOptions().max_loss_points,
        help_text="percentage points of accuracy that it may lose; percent of the loss where there is no accuracy",
    )


class QuantiseView(APIView):
    """An int8 form of a version."""

    @extend_schema(request=QuantiseSerializer, responses={201: TrainingJobSerializer})
    def post(self, request: Request, pk: UUID) -> Response:
        """Make an int8 form of a version of a device model and measure it; its variants tell what came of it."""
        version = get_object_or_404(ModelVersion.objects.select_related("pair"), pk=pk)
        wanted = QuantiseSerializer(data=request.data)
        check_body(wanted)
        options = QuantiseOptions(wanted.validated_data["max_loss_points"])
        dataset = wanted.validated_data["dataset"]
        job = services.quantise_version(version=version, dataset=dataset, options=options, now=timezone.now())
        return Response(TrainingJobSerializer(job).data, status=status.HTTP_201_CREATED)
