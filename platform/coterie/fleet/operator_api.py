"""The fleet in the operators' REST API."""

from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from coterie.fleet import services
from coterie.fleet.models import Device, EnrolmentToken
from coterie.fleet.selectors import present_devices, ready_devices, why_not_ready, with_tag
from coterie_wire.conditions import Reason


class ReasonSerializer(serializers.Serializer[Reason]):
    """Why something waits."""

    code = serializers.CharField()
    sentence = serializers.CharField()


class DeviceSerializer(serializers.ModelSerializer[Device]):
    """A device, with what it last reported."""

    present = serializers.SerializerMethodField()
    ready = serializers.SerializerMethodField()
    reasons = serializers.SerializerMethodField(help_text="why it would not train now; empty: it is ready")
    tags = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Device
        fields = [
            "id",
            "name",
            "tags",
            "state",
            "present",
            "ready",
            "reasons",
            "enrolled_at",
            "ended_at",
            "last_seen_at",
            "check_in_s",
            "capabilities",
            "conditions",
            "metadata",
            "held_version",
            "train_step_s",
        ]
        read_only_fields = [name for name in fields if name not in ("name", "tags")]

    def get_present(self, device: Device) -> bool:
        """Whether it checks in as it should."""
        return device.is_present(timezone.now())

    def get_ready(self, device: Device) -> bool:
        """Whether it would train now."""
        return not why_not_ready(device, now=timezone.now())

    @extend_schema_field(ReasonSerializer(many=True))
    def get_reasons(self, device: Device) -> list[dict[str, str]]:
        """Why it would not train now."""
        return [msgspec.to_builtins(reason) for reason in why_not_ready(device, now=timezone.now())]


class DeviceFilter(serializers.Serializer[None]):
    """Which devices to list."""

    state = serializers.ChoiceField(Device.State.choices, required=False)
    tag = serializers.CharField(required=False)
    present = serializers.BooleanField(required=False, allow_null=True, default=None)
    ready = serializers.BooleanField(required=False, allow_null=True, default=None)


class DeviceViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Device]):
    """Devices of the fleet."""

    queryset = Device.objects.all()
    serializer_class = DeviceSerializer

    @extend_schema(parameters=[DeviceFilter])
    def list(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Devices by name, a page at a time."""
        return super().list(request, *args, **kwargs)

    @extend_schema(request=DeviceSerializer, responses=DeviceSerializer)
    def partial_update(self, request: Request, **_: UUID) -> Response:
        """Rename the device, tag it anew, or both."""
        device = self.get_object()
        change = DeviceSerializer(device, data=request.data, partial=True)
        change.is_valid(raise_exception=True)
        services.change_device(
            device=device, name=change.validated_data.get("name"), tags=change.validated_data.get("tags")
        )
        return Response(DeviceSerializer(device).data)

    @extend_schema(request=None, responses=DeviceSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, _request: Request, **_: UUID) -> Response:
        """End the device's credential at once; it must join again to come back."""
        device = self.get_object()
        services.revoke_device(device=device, now=timezone.now())
        return Response(DeviceSerializer(device).data)

    def get_queryset(self) -> QuerySet[Device]:
        """All devices; of a list, those that the query asks for."""
        return self._asked_for() if self.action == "list" else Device.objects.all()

    def _asked_for(self) -> QuerySet[Device]:
        wanted = DeviceFilter(data=self.request.query_params)
        wanted.is_valid(raise_exception=True)
        asked = wanted.validated_data
        now = timezone.now()
        queryset = with_tag(Device.objects.all(), asked.get("tag", ""))
        if "state" in asked:
            queryset = queryset.filter(state=asked["state"])
        for name, those in (("present", present_devices(now=now)), ("ready", ready_devices(now=now))):
            if asked[name] is not None:
                queryset = queryset.filter(pk__in=those) if asked[name] else queryset.exclude(pk__in=those)
        return queryset


class EnrolmentTokenSerializer(serializers.ModelSerializer[EnrolmentToken]):
    """An enrolment token without its secret."""

    tags = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    uses_allowed = serializers.IntegerField(min_value=1, max_value=100_000, default=1)

    class Meta:
        model = EnrolmentToken
        fields = ["id", "label", "tags", "uses_allowed", "uses", "created_at", "expires_at", "revoked_at"]
        read_only_fields = ["id", "uses", "created_at", "revoked_at"]


class IssuedEnrolmentTokenSerializer(EnrolmentTokenSerializer):
    """A new enrolment token; `secret` is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(EnrolmentTokenSerializer.Meta):
        fields = [*EnrolmentTokenSerializer.Meta.fields, "secret"]


class EnrolmentTokenViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[EnrolmentToken]):
    """Tokens with which devices join."""

    queryset = EnrolmentToken.objects.all()
    serializer_class = EnrolmentTokenSerializer

    @extend_schema(request=EnrolmentTokenSerializer, responses={201: IssuedEnrolmentTokenSerializer})
    def create(self, request: Request) -> Response:
        """A new token. Its secret is in this answer and nowhere else."""
        wanted = EnrolmentTokenSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        token, secret = services.create_enrolment_token(**wanted.validated_data, now=timezone.now())
        return Response({**EnrolmentTokenSerializer(token).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=EnrolmentTokenSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, _request: Request, **_: int) -> Response:
        """Let no more devices join with it; those that have stay."""
        token = self.get_object()
        services.revoke_enrolment_token(token=token, now=timezone.now())
        return Response(EnrolmentTokenSerializer(token).data)
