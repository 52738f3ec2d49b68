"""Rounds in the operators' REST API, to look at: they are held by the platform alone."""

from django.db.models import Count, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from coterie.rounds.models import Assignment, Round, Update


class UpdateSerializer(serializers.ModelSerializer[Update]):
    """An update that counts."""

    class Meta:
        model = Update
        fields = [
            "sha256",
            "size_bytes",
            "samples",
            "steps_done",
            "steps_total",
            "loss_before",
            "loss_after",
            "accuracy_before",
            "train_s",
            "received_at",
        ]
        read_only_fields = fields


class AssignmentSerializer(serializers.ModelSerializer[Assignment]):
    """One device's part in a round."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    delivered = UpdateSerializer(source="update", read_only=True, allow_null=True, default=None)

    class Meta:
        model = Assignment
        fields = [
            "id",
            "device",
            "device_name",
            "state",
            "reason_code",
            "reason_sentence",
            "stage",
            "steps_done",
            "steps_total",
            "offered_at",
            "changed_at",
            "delivered",
        ]
        read_only_fields = fields


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    devices = serializers.IntegerField(read_only=True, help_text="devices that were invited")
    updates = serializers.IntegerField(read_only=True, help_text="updates that count")

    class Meta:
        model = Round
        fields = [
            "id",
            "federation",
            "federation_slug",
            "number",
            "state",
            "reason_code",
            "reason_sentence",
            "opens_at",
            "opened_at",
            "deadline_at",
            "closed_at",
            "finished_at",
            "base_version",
            "result_version",
            "devices",
            "updates",
            "metrics",
        ]
        read_only_fields = fields


class RoundDetailSerializer(RoundSerializer):
    """A round with everybody's part in it."""

    assignments = AssignmentSerializer(many=True, read_only=True)

    class Meta(RoundSerializer.Meta):
        fields = [*RoundSerializer.Meta.fields, "plan", "assignments"]
        read_only_fields = fields


class RoundFilter(serializers.Serializer[None]):
    """Which rounds to list."""

    federation = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(Round.State.choices, required=False)


class RoundViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Round]):
    """Rounds."""

    queryset = (
        Round.objects.select_related("federation")
        .annotate(devices=Count("assignments"), updates=Count("assignments", filter=Q(assignments__state="delivered")))
        .order_by("-opens_at", "-number")  # grouping forgets the model's own order
    )
    serializer_class = RoundSerializer

    @extend_schema(parameters=[RoundFilter])
    def list(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Rounds, youngest first, a page at a time."""
        return super().list(request, *args, **kwargs)

    @extend_schema(responses=RoundDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """A round with everybody's part in it."""
        return super().retrieve(request, *args, **kwargs)

    def get_serializer_class(self) -> type[RoundSerializer]:
        """Lists leave the assignments out."""
        return RoundDetailSerializer if self.action == "retrieve" else RoundSerializer

    def get_queryset(self) -> QuerySet[Round]:
        """All rounds; of a list, those that the query asks for."""
        rounds = super().get_queryset()
        if self.action != "list":
            return rounds.prefetch_related("assignments__device", "assignments__update")
        wanted = RoundFilter(data=self.request.query_params)
        wanted.is_valid(raise_exception=True)
        return rounds.filter(**wanted.validated_data)
