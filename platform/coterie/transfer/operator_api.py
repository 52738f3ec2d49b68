"""Help between devices in the operators' REST API, to look at: devices ask, the platform matches."""

from typing import TypeVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from coterie.transfer.models import DeviceProfile, HelpRequest, Transfer

M = TypeVar("M", bound=Model)


class TransferSerializer(serializers.ModelSerializer[Transfer]):
    """One helper's part in one help request."""

    federation = serializers.UUIDField(source="request.federation_id", read_only=True)
    target = serializers.UUIDField(source="request.device_id", read_only=True, help_text="the device that asked")
    target_name = serializers.CharField(source="request.device.name", read_only=True)
    helper_name = serializers.CharField(source="helper.name", read_only=True)
    classes = serializers.ListField(source="request.classes", child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = Transfer
        fields = [
            "id",
            "request",
            "federation",
            "target",
            "target_name",
            "helper",
            "helper_name",
            "classes",
            "state",
            "reason_code",
            "reason_sentence",
            "divergence",
            "size_bytes",
            "accuracy_before",
            "accuracy_after",
            "judged_samples",
            "matched_at",
            "requested_at",
            "delivered_at",
            "merged_at",
            "ended_at",
            "due_at",
        ]
        read_only_fields = fields


class HelpRequestSerializer(serializers.ModelSerializer[HelpRequest]):
    """A device that asks for help, and whoever was asked."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    classes = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    error = serializers.SerializerMethodField(help_text="share of the samples it asks about that it had wrong")
    transfers = TransferSerializer(many=True, read_only=True)

    class Meta:
        model = HelpRequest
        fields = [
            "id",
            "federation",
            "federation_slug",
            "device",
            "device_name",
            "classes",
            "error",
            "state",
            "reason_code",
            "reason_sentence",
            "asked_at",
            "changed_at",
            "due_at",
            "finished_at",
            "transfers",
        ]
        read_only_fields = fields

    def get_error(self, request: HelpRequest) -> float | None:
        """As the device told it."""
        return request.asked_profile().error


class DeviceProfileSerializer(serializers.ModelSerializer[DeviceProfile]):
    """What a device last told of its data."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    profile = serializers.SerializerMethodField()

    class Meta:
        model = DeviceProfile
        fields = ["id", "federation", "device", "device_name", "profile", "reports", "size_bytes", "updated_at"]
        read_only_fields = fields

    @extend_schema_field({"type": "object"})
    def get_profile(self, row: DeviceProfile) -> object:
        """Counts by class of its newest batches."""
        return row.content


class HelpRequestFilter(serializers.Serializer[None]):
    """Which help requests to list."""

    federation = serializers.UUIDField(required=False)
    device = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(HelpRequest.State.choices, required=False)
    live = serializers.BooleanField(required=False, allow_null=True, default=None)


class TransferFilter(serializers.Serializer[None]):
    """Which transfers to list."""

    federation = serializers.UUIDField(required=False, source="request__federation")
    target = serializers.UUIDField(required=False, source="request__device")
    helper = serializers.UUIDField(required=False)
    request = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(Transfer.State.choices, required=False)


class DeviceProfileFilter(serializers.Serializer[None]):
    """Which profiles to list."""

    federation = serializers.UUIDField(required=False)
    device = serializers.UUIDField(required=False)


class HelpRequestViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[HelpRequest]):
    """Help requests."""

    queryset = HelpRequest.objects.select_related("federation", "device").prefetch_related(
        "transfers__helper", "transfers__request__device"
    )
    serializer_class = HelpRequestSerializer

    @extend_schema(parameters=[HelpRequestFilter])
    def list(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Help requests, youngest first, a page at a time."""
        return super().list(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[HelpRequest]:
        """All help requests; of a list, those that the query asks for."""
        requests = super().get_queryset()
        if self.action != "list":
            return requests
        wanted = HelpRequestFilter(data=self.request.query_params)
        wanted.is_valid(raise_exception=True)
        asked = wanted.validated_data
        live = asked.pop("live")
        if live is not None:
            requests = (requests.filter if live else requests.exclude)(state__in=HelpRequest.LIVE)
        return requests.filter(**asked)


class TransferViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Transfer]):
    """Who helped whom, with what, and whether it helped."""

    queryset = Transfer.objects.select_related("request__device", "helper").order_by("-matched_at", "-id")
    serializer_class = TransferSerializer

    @extend_schema(parameters=[TransferFilter])
    def list(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Transfers, youngest first, a page at a time."""
        return super().list(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Transfer]:
        """All transfers; of a list, those that the query asks for."""
        return _filtered(self, super().get_queryset(), TransferFilter)


class DeviceProfileViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[DeviceProfile]):
    """What devices tell of their data: counts, never samples."""

    queryset = DeviceProfile.objects.select_related("device")
    serializer_class = DeviceProfileSerializer

    @extend_schema(parameters=[DeviceProfileFilter])
    def list(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Profiles by federation and device, a page at a time."""
        return super().list(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[DeviceProfile]:
        """All profiles; of a list, those that the query asks for."""
        return _filtered(self, super().get_queryset(), DeviceProfileFilter)


def _filtered(view: GenericViewSet[M], rows: QuerySet[M], kind: type[serializers.Serializer[None]]) -> QuerySet[M]:
    if view.action != "list":
        return rows
    wanted = kind(data=view.request.query_params)
    wanted.is_valid(raise_exception=True)
    return rows.filter(**wanted.validated_data)
