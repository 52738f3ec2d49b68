"""Help between devices in the operators' REST API, to look at: devices ask, the platform matches."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.transfer.models import DeviceProfile, HelpRequest, Transfer


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
            "way",
            "way_code",
            "way_sentence",
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
        return request.parsed_profile().error


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
    state = ChoiceField(HelpRequest.State.choices, required=False)
    live = serializers.BooleanField(required=False, allow_null=True, default=None)


class TransferFilter(serializers.Serializer[None]):
    """Which transfers to list."""

    federation = serializers.UUIDField(required=False, source="request__federation")
    pair = serializers.UUIDField(required=False, source="request__federation__pair", help_text="whose model was helped")
    target = serializers.UUIDField(required=False, source="request__device")
    helper = serializers.UUIDField(required=False)
    request = serializers.UUIDField(required=False)
    state = ChoiceField(Transfer.State.choices, required=False)


class DeviceProfileFilter(serializers.Serializer[None]):
    """Which profiles to list."""

    federation = serializers.UUIDField(required=False)
    device = serializers.UUIDField(required=False)


class HelpRequestViewSet(ListedViewSet[HelpRequest]):
    """Help requests, youngest first."""

    queryset = HelpRequest.objects.select_related("federation", "device").prefetch_related(
        "transfers__helper", "transfers__request__device"
    )
    serializer_class = HelpRequestSerializer
    filters = HelpRequestFilter

    def narrowed(self, rows: QuerySet[HelpRequest], query: QueryParameters) -> QuerySet[HelpRequest]:
        """By federation, device and state; and those that go on, or have ended."""
        rows = rows.filter(**{name: value for name, value in query.items() if name != "live"})
        if "live" not in query:
            return rows
        return (rows.filter if query["live"] else rows.exclude)(state__in=HelpRequest.LIVE)


class TransferViewSet(ListedViewSet[Transfer]):
    """Who helped whom, with what, and whether it helped; youngest first."""

    queryset = Transfer.objects.select_related("request__device", "helper").order_by("-matched_at", "-id")
    serializer_class = TransferSerializer
    filters = TransferFilter


class DeviceProfileViewSet(ListedViewSet[DeviceProfile]):
    """What devices tell of their data: counts, never samples."""

    queryset = DeviceProfile.objects.select_related("device")
    serializer_class = DeviceProfileSerializer
    filters = DeviceProfileFilter
