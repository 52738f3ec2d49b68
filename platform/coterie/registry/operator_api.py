"""The registry in the operators' REST API."""

from collections.abc import Sequence
from contextlib import ExitStack
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import FileResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.compile.recipe import recipe_schema
from coterie.core.archiving_api import ARCHIVED_AT, NOTES, ArchivedFilter, NotesField
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.json_body import BoundedJSONParser
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.core.uploaded import on_disk
from coterie.core.why_api import WhyField
from coterie.registry import describing, services
from coterie.registry.archive import archive
from coterie.registry.ensembles import Column, Ensemble, ensembles_of
from coterie.registry.graph import Edge, Graph, graph_of, is_champion
from coterie.registry.models import BASE, MAX_LINEAGE, Alias, Dataset, ModelPair, ModelVersion, Role, Variant
from coterie.registry.selectors import ancestry, misfit


class VersionSerializer(serializers.ModelSerializer[ModelVersion]):
    """One version of a model."""

    champion = serializers.SerializerMethodField(help_text="whether it is the one in use")
    name = serializers.CharField(
        source="described.name", read_only=True, help_text="what people call it; blank: its number only"
    )
    notes = serializers.CharField(source="described.notes", read_only=True, help_text=NOTES)
    archived_at = serializers.DateTimeField(
        source="described.archived_at", read_only=True, allow_null=True, help_text=ARCHIVED_AT
    )
    size_bytes = serializers.IntegerField(source="parameters.size_bytes", read_only=True)
    removed_at = serializers.DateTimeField(
        source="parameters.removed_at",
        read_only=True,
        allow_null=True,
        help_text="when its parameters were removed, as nothing needed them; null: they are there",
    )
    server_state_bytes = serializers.IntegerField(
        source="server_state.size_bytes",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="size of what the merge that made it remembers; null: nothing",
    )

    class Meta:
        model = ModelVersion
        fields = [
            "id",
            "pair",
            "role",
            "lineage",
            "number",
            "name",
            "notes",
            "archived_at",
            "parent",
            "origin",
            "champion",
            "metrics",
            "parameters",
            "size_bytes",
            "removed_at",
            "server_state",
            "server_state_bytes",
            "created_at",
        ]
        read_only_fields = fields

    def get_champion(self, version: ModelVersion) -> bool:
        """Whether it is the one in use."""
        return is_champion(version)


class MeasuredSerializer(serializers.Serializer[None]):
    """A form of a model, measured at the platform on one thread."""

    size_bytes = serializers.IntegerField(help_text="of what a device needs of it to predict")
    accuracy = serializers.FloatField(allow_null=True, help_text="on held-out samples; null: the task has none")
    loss = serializers.FloatField()
    p50_us = serializers.FloatField(help_text="of one run on one sample, in microseconds")
    p90_us = serializers.FloatField()
    p99_us = serializers.FloatField()


class VariantReasonSerializer(serializers.Serializer[None]):
    """Why something is not offered."""

    code = serializers.CharField()
    sentence = serializers.CharField()


class TriedSerializer(serializers.Serializer[None]):
    """A way to quantise, and what became of it."""

    method = serializers.CharField(help_text="static_minmax, static_percentile, static_convolutions or dynamic")
    measured = MeasuredSerializer(allow_null=True, help_text="null: it does not run")
    loss_points = serializers.FloatField(allow_null=True)
    refused = VariantReasonSerializer(allow_null=True, help_text="null: it could be offered")


class VariantSerializer(serializers.ModelSerializer[Variant]):
    """A smaller form of a version, or why there is none."""

    graph_bytes = serializers.IntegerField(
        source="graph.size_bytes", read_only=True, allow_null=True, default=None, help_text="null: none is offered"
    )
    samples = serializers.IntegerField(source="measured.samples", read_only=True)
    calibration = serializers.IntegerField(
        source="measured.calibration", read_only=True, help_text="other samples that it was calibrated with"
    )
    offered = serializers.CharField(
        source="measured.offered", read_only=True, allow_null=True, help_text="how it was made"
    )
    float32 = MeasuredSerializer(source="measured.float32", read_only=True, help_text="the version itself")
    tried = TriedSerializer(source="measured.tried", many=True, read_only=True)

    class Meta:
        model = Variant
        fields = [
            "id",
            "version",
            "name",
            "graph",
            "graph_bytes",
            "reason_code",
            "reason_sentence",
            "samples",
            "calibration",
            "offered",
            "float32",
            "tried",
            "made_at",
        ]
        read_only_fields = fields


class ColumnSerializer(serializers.Serializer[Column]):
    """One column of the samples, and how trees use it."""

    number = serializers.IntegerField(help_text="of the features, flattened; the first is 0")
    splits = serializers.IntegerField(help_text="nodes that split by it, over all trees")
    first_levels = serializers.IntegerField(help_text="of these, the nodes that are a tree's root")


class EnsembleSerializer(serializers.Serializer[Ensemble]):
    """Boosted trees of a version. It keeps no gains: those are of the sums that made it, which nobody keeps."""

    name = serializers.CharField(help_text="of its parameters; blank for a model that is nothing else")
    trees = serializers.IntegerField(help_text="that there is room for")
    grown = serializers.IntegerField(help_text="that have a split")
    levels = serializers.IntegerField(help_text="of splits that a tree can have")
    deepest = serializers.IntegerField(help_text="levels of splits that the deepest tree has")
    leaves = serializers.IntegerField(help_text="of all trees that have grown")
    columns = ColumnSerializer(many=True, help_text="by which something is split, the most used first")


class PairSerializer(serializers.ModelSerializer[ModelPair]):
    """A pair, and which of its versions are in use."""

    labels = serializers.ListField(child=serializers.CharField(max_length=100), read_only=True)
    reason_fields = serializers.DictField(
        read_only=True, help_text="what the sentence is about, such as operator, module and reason"
    )
    device_champion = serializers.SerializerMethodField()
    cloud_champion = serializers.SerializerMethodField()

    class Meta:
        model = ModelPair
        fields = [
            "id",
            "name",
            "slug",
            "notes",
            "archived_at",
            "state",
            "reason_code",
            "reason_sentence",
            "reason_fields",
            "labels",
            "batch_size",
            "recipe",
            "spec",
            "report",
            "device_champion",
            "cloud_champion",
            "created_at",
        ]
        read_only_fields = fields

    def get_device_champion(self, pair: ModelPair) -> UUID | None:
        """The device model's version in use."""
        return _champion_id(pair, Role.DEVICE)

    def get_cloud_champion(self, pair: ModelPair) -> UUID | None:
        """The cloud model's version in use."""
        return _champion_id(pair, Role.CLOUD)


class DescribedSerializer(serializers.Serializer[None]):
    """Another name, other notes; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    notes = NotesField()


class DescribedVersionSerializer(DescribedSerializer):
    """Another name, which may be blank, and other notes; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False, allow_blank=True)


class EdgeSerializer(serializers.Serializer[Edge]):
    """One version came of another."""

    from_version = serializers.UUIDField()
    to_version = serializers.UUIDField()
    origin = ChoiceField(ModelVersion.Origin.choices)


class GraphSerializer(serializers.Serializer[Graph]):
    """Versions of both models of a pair, oldest first, and what they came of."""

    versions = VersionSerializer(many=True)
    edges = EdgeSerializer(many=True)
    count = serializers.IntegerField(help_text="how many versions the pair has")


class GraphFilter(serializers.Serializer[None]):
    """How much of a graph."""

    newest = serializers.IntegerField(
        required=False, min_value=1, max_value=10_000, help_text="so many of the newest versions; none: all"
    )


class SubmittedPairSerializer(serializers.Serializer[ModelPair]):
    """A pair to be checked, as a form with files written by `torch.export.save`."""

    name = serializers.CharField(max_length=100)
    device = serializers.FileField(help_text="the device model's program, .pt2")
    cloud = serializers.FileField(help_text="the cloud model's program, .pt2")
    loss = serializers.FileField(
        required=False, default=None, help_text="the loss as a program, .pt2, where the recipe's is custom"
    )
    labels = serializers.ListField(
        child=serializers.CharField(max_length=100),
        default=list,
        help_text="what each class or label is called, in order; none where the loss knows no classes",
    )
    batch_size = serializers.IntegerField(min_value=1, max_value=4096, default=32)
    recipe = serializers.JSONField(
        default=dict,
        help_text="the loss, the optimiser and what trains, as JSON; see recipe-schema. The rest has its default",
    )


class RecipeSchemaView(APIView):
    """What a recipe may say."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, _request: Request) -> Response:
        """JSON schema of every kind of loss, optimiser and what trains, and of the recipe's other fields."""
        return Response(recipe_schema())


class MovedChampionSerializer(serializers.Serializer[ModelVersion]):
    """Where the champion goes."""

    role = ChoiceField(Role.choices, default=Role.DEVICE)
    lineage = serializers.CharField(
        max_length=MAX_LINEAGE,
        allow_blank=True,
        default=BASE,
        help_text="a federation's or a group's; blank: the pair's",
    )
    version = serializers.UUIDField(allow_null=True, default=None, help_text="none: the parent of the one in use")
    why = WhyField(help_text="stands in the audit log, and beside the mark on the federation's charts")


class UploadedWeightsSerializer(serializers.Serializer[ModelVersion]):
    """Of which models."""

    models = serializers.ListField(
        child=ChoiceField(Role.choices),
        default=[str(role) for role in Role],
        allow_empty=False,
        help_text="whose weights; by default of both models",
    )


class PairFilter(ArchivedFilter):
    """Which pairs to list."""

    state = ChoiceField(ModelPair.State.choices, required=False)


class PairRows(ListedViewSet[ModelPair]):
    """Which model pairs are listed, and in what order."""

    queryset = ModelPair.objects.prefetch_related("aliases")
    filters = PairFilter
    sorts = {name: name for name in ("name", "state", "created_at")}
    searched = ("name", "slug")

    def narrowed(self, rows: QuerySet[ModelPair], query: QueryParameters) -> QuerySet[ModelPair]:
        """By its columns, and by whether it is archived."""
        archived, others = query["archived"], {name: value for name, value in query.items() if name != "archived"}
        return rows.filter(archived_at__isnull=not archived, **others)


class FittingSerializer(serializers.Serializer[Sequence[dict[str, object]]]):
    """A data set beside a pair."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    rows = serializers.IntegerField()
    misfit = serializers.CharField(allow_blank=True, help_text="why the models cannot take its samples; blank: they do")


class PairViewSet(PairRows):
    """Model pairs."""

    serializer_class = PairSerializer
    parser_classes = [BoundedJSONParser, MultiPartParser]

    @extend_schema(request={"multipart/form-data": SubmittedPairSerializer}, responses={201: PairSerializer})
    def create(self, request: Request) -> Response:
        """Submit a pair; a pre-flight compiles and tries it, and its state says whether it passed."""
        submitted = SubmittedPairSerializer(data=request.data)
        check_body(submitted)
        given = submitted.validated_data
        with ExitStack() as files:
            device, cloud = (files.enter_context(on_disk(given[name])) for name in ("device", "cloud"))
            loss = files.enter_context(on_disk(given["loss"])) if given["loss"] else None
            pair = services.submit_pair(
                name=given["name"],
                device_program=device,
                cloud_program=cloud,
                labels=given["labels"],
                batch_size=given["batch_size"],
                recipe=given["recipe"],
                loss_program=loss,
                now=timezone.now(),
            )
        return Response(PairSerializer(pair).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=DescribedSerializer, responses=PairSerializer)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Rename it, or write other notes about it."""
        pair = get_object_or_404(ModelPair, pk=pk)
        given = DescribedSerializer(data=request.data)
        check_body(given)
        describing.describe_pair(pair=pair, **given.validated_data)
        return Response(PairSerializer(pair).data)

    @extend_schema(request=None, responses=PairSerializer)
    @action(detail=True, methods=["post"])
    def archive(self, _request: Request, pk: UUID) -> Response:
        """Leave it out of lists, where its federations are archived."""
        pair = get_object_or_404(ModelPair, pk=pk)
        describing.archive_pair(pair=pair, now=timezone.now())
        return Response(PairSerializer(pair).data)

    @extend_schema(request=None, responses=PairSerializer)
    @action(detail=True, methods=["post"])
    def restore(self, _request: Request, pk: UUID) -> Response:
        """Have lists show it again."""
        pair = get_object_or_404(ModelPair, pk=pk)
        describing.restore_pair(pair=pair)
        return Response(PairSerializer(pair).data)

    @extend_schema(responses=FittingSerializer(many=True))
    @action(detail=True, pagination_class=None)
    def datasets(self, _request: Request, pk: UUID) -> Response:
        """Every data set, newest first, and why the pair's models cannot take its samples; none before it is ready."""
        pair = get_object_or_404(ModelPair, pk=pk)
        known = Dataset.objects.all() if pair.state == ModelPair.State.READY else ()
        fitting = [
            {"id": one.pk, "name": one.name, "rows": one.rows, "misfit": misfit(pair, one) or ""} for one in known
        ]
        return Response(FittingSerializer(fitting, many=True).data)

    @extend_schema(parameters=[GraphFilter], responses=GraphSerializer)
    @action(detail=True)
    def graph(self, request: Request, pk: UUID) -> Response:
        """The lineage of both models."""
        asked = GraphFilter(data=request.query_params)
        asked.is_valid(raise_exception=True)
        graph = graph_of(get_object_or_404(ModelPair, pk=pk), newest=asked.validated_data.get("newest"))
        return Response(GraphSerializer(graph).data)

    @extend_schema(request=MovedChampionSerializer, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def champion(self, request: Request, pk: UUID) -> Response:
        """Use another version: one that is named, or the parent of the one in use."""
        pair = get_object_or_404(ModelPair, pk=pk)
        wanted = MovedChampionSerializer(data=request.data)
        check_body(wanted)
        version = services.roll_back(
            pair=pair,
            role=Role(wanted.validated_data["role"]),
            to=wanted.validated_data["version"],
            lineage=wanted.validated_data["lineage"],
            why=wanted.validated_data["why"],
            now=timezone.now(),
        )
        return Response(VersionSerializer(version).data)

    @extend_schema(request=UploadedWeightsSerializer, responses=VersionSerializer(many=True), filters=False)
    @action(detail=True, methods=["post"], url_path="uploaded-weights", pagination_class=None)
    def uploaded_weights(self, request: Request, pk: UUID) -> Response:
        """Use the weights with which the models were uploaded, as when they were trained before."""
        pair = get_object_or_404(ModelPair, pk=pk)
        wanted = UploadedWeightsSerializer(data=request.data)
        check_body(wanted)
        roles = sorted({Role(role) for role in wanted.validated_data["models"]})  # the cloud model first
        with transaction.atomic():
            versions = [services.use_uploaded_weights(pair=pair, role=role, now=timezone.now()) for role in roles]
        return Response(VersionSerializer(versions, many=True).data)


class VersionFilter(ArchivedFilter):
    """Which versions to list."""

    pair = serializers.UUIDField(required=False)
    role = ChoiceField(Role.choices, required=False)
    lineage = serializers.CharField(max_length=MAX_LINEAGE, allow_blank=True, required=False)
    origin = ChoiceField(ModelVersion.Origin.choices, required=False)


class VersionRows(ListedViewSet[ModelVersion]):
    """Which versions are listed, and in what order."""

    queryset = ModelVersion.objects.select_related("parameters", "server_state", "description").prefetch_related(
        "aliases"
    )
    filters = VersionFilter
    sorts = {"number": "number", "created_at": "created_at", "size_bytes": "parameters__size_bytes"}
    searched = ("description__name", "description__notes", "lineage", "pair__slug")

    def narrowed(self, rows: QuerySet[ModelVersion], query: QueryParameters) -> QuerySet[ModelVersion]:
        """By its columns, and by whether it is archived."""
        archived, others = query["archived"], {name: value for name, value in query.items() if name != "archived"}
        return rows.filter(description__archived_at__isnull=not archived, **others)


class VersionViewSet(VersionRows):
    """Versions of models; they never change, but for what people call them."""

    serializer_class = VersionSerializer

    @extend_schema(request=DescribedVersionSerializer, responses=VersionSerializer)
    def partial_update(self, request: Request, **_: UUID) -> Response:
        """Name it, or write notes about it."""
        version = self.get_object()
        given = DescribedVersionSerializer(data=request.data)
        check_body(given)
        describing.describe_version(version=version, **given.validated_data)
        return Response(VersionSerializer(self.get_object()).data)

    @extend_schema(request=None, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def restore(self, _request: Request, **_: UUID) -> Response:
        """Have lists show it again."""
        describing.restore_version(version=self.get_object())
        return Response(VersionSerializer(self.get_object()).data)

    @extend_schema(responses=VersionSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def lineage(self, _request: Request, pk: UUID) -> Response:
        """The version and its ancestors, youngest first."""
        lineage = ancestry(get_object_or_404(ModelVersion, pk=pk))
        return Response(VersionSerializer(lineage, many=True).data)

    @extend_schema(responses=VariantSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def variants(self, _request: Request, pk: UUID) -> Response:
        """Its smaller forms as they were measured, or why there are none; `quantise` makes them."""
        variants = get_object_or_404(ModelVersion, pk=pk).variants.select_related("graph")
        return Response(VariantSerializer(variants, many=True).data)

    @extend_schema(responses=EnsembleSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def ensembles(self, _request: Request, pk: UUID) -> Response:
        """Its boosted trees: how many have grown, how deep, by which columns; none where it has no trees."""
        version = get_object_or_404(ModelVersion.objects.select_related("pair", "parameters"), pk=pk)
        return Response([EnsembleSerializer(one).data for one in ensembles_of(version, now=timezone.now())])

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    @action(detail=True)
    def archive(self, _request: Request, pk: UUID) -> FileResponse:
        """The version as a ZIP file: parameters and server state; of a device model also graphs and manifest."""
        version = get_object_or_404(ModelVersion.objects.select_related("pair"), pk=pk)
        name = (
            "-".join(filter(None, (version.pair.slug, version.lineage, version.role, str(version.number)))).replace(
                "/", "-"
            )
            + ".zip"
        )
        return FileResponse(archive(version, now=timezone.now()), as_attachment=True, filename=name)

    @extend_schema(request=None, responses=VersionSerializer, operation_id="versions_archive_create")
    @archive.mapping.post
    def put_away(self, _request: Request, **_: UUID) -> Response:
        """Archive it: leave it out of lists, where it is not in use."""
        describing.archive_version(version=self.get_object(), now=timezone.now())
        return Response(VersionSerializer(self.get_object()).data)


class TensorSpecSerializer(serializers.Serializer[None]):
    """A tensor of one sample."""

    name = serializers.CharField(read_only=True)
    dtype = ChoiceField(["float32", "int64", "int32", "uint8", "bool"], read_only=True)
    shape = serializers.ListField(child=serializers.IntegerField(), read_only=True)


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """A data set."""

    inputs = TensorSpecSerializer(many=True, read_only=True)
    target_shape = serializers.ListField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = Dataset
        fields = [
            "id",
            "name",
            "rows",
            "inputs",
            "target_shape",
            "target_dtype",
            "classes",
            "created_at",
        ]
        read_only_fields = fields


class SubmittedDatasetSerializer(serializers.Serializer[Dataset]):
    """A data set as a form with a file."""

    name = serializers.CharField(max_length=100)
    file = serializers.FileField(
        help_text="an .npz with y (float32 or int64; classes are int64) and x, or an array by the name of each input "
        "(float32, int64, int32, uint8 or bool); a row a sample"
    )


class DatasetViewSet(ListedViewSet[Dataset]):
    """Data sets that operators gave."""

    queryset = Dataset.objects.all()
    serializer_class = DatasetSerializer
    sorts = {name: name for name in ("name", "rows", "created_at")}
    searched = ("name",)
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": SubmittedDatasetSerializer}, responses={201: DatasetSerializer})
    def create(self, request: Request) -> Response:
        """Upload a data set."""
        submitted = SubmittedDatasetSerializer(data=request.data)
        check_body(submitted)
        with on_disk(submitted.validated_data["file"]) as path:
            dataset = services.add_dataset(name=submitted.validated_data["name"], path=path, now=timezone.now())
        return Response(DatasetSerializer(dataset).data, status=status.HTTP_201_CREATED)


def _champion_id(pair: ModelPair, role: Role) -> UUID | None:
    aliases = pair.aliases.all()  # filtered here, so that a list asks the database once
    return next(
        (a.version_id for a in aliases if (a.role, a.lineage, a.name) == (role, BASE, Alias.Name.CHAMPION)), None
    )
