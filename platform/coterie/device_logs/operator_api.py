"""Logs of devices in the operators' REST API."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.device_logs import services
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.device_logs.selectors import why_no_log
from coterie.fleet.models import Device
from coterie_wire.device_log import LONGEST_HOURS, MAX_WHY


class DeviceLogSerializer(serializers.ModelSerializer[DeviceLog]):
    """A device's log of some hours, asked for by an operator."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    left_out = serializers.IntegerField(read_only=True, help_text="older lines that are more than a delivery holds")
    keep_until = serializers.DateTimeField(read_only=True, help_text="when the lines are removed; null: none came")

    class Meta:
        model = DeviceLog
        fields = [
            "id",
            "device",
            "device_name",
            "hours",
            "why",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "due_at",
            "allowed_at",
            "ended_at",
            "line_count",
            "left_out",
            "size_bytes",
            "keep_until",
        ]
        read_only_fields = fields


class DeviceLogLineSerializer(serializers.ModelSerializer[DeviceLogLine]):
    """A line that a device has sent, without secrets and samples."""

    class Meta:
        model = DeviceLogLine
        fields = ["id", "at", "level", "source", "text"]
        read_only_fields = fields


class AskForLogSerializer(serializers.Serializer[None]):
    """Of which device, how much, and what for."""

    device = serializers.PrimaryKeyRelatedField(queryset=Device.objects.all())
    hours = serializers.IntegerField(
        min_value=1, max_value=LONGEST_HOURS, default=24, help_text="the last so many; at most a week"
    )
    why = serializers.CharField(
        max_length=MAX_WHY, default="", allow_blank=True, help_text="what it is wanted for; the device's owner reads it"
    )


class DeviceLogFilter(serializers.Serializer[None]):
    """Which requests to list."""

    device = serializers.UUIDField(required=False)
    state = ChoiceField(DeviceLog.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="asked or allowed")


class DeviceLogViewSet(ListedViewSet[DeviceLog]):
    """Requests for devices' logs, youngest first."""

    queryset = DeviceLog.objects.select_related("device")
    serializer_class = DeviceLogSerializer
    active_states = DeviceLog.OPEN
    filters = DeviceLogFilter
    sorts = {name: name for name in ("created_at", "ended_at", "line_count")}
    searched = ("device__name", "why", "reason_sentence")

    @extend_schema(request=AskForLogSerializer, responses={201: DeviceLogSerializer})
    def create(self, request: Request) -> Response:
        """Ask a device for its log of the last hours; its owner decides."""
        wanted = AskForLogSerializer(data=request.data)
        check_body(wanted)
        log = services.request_log(**wanted.validated_data, now=timezone.now())
        return Response(DeviceLogSerializer(log).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=DeviceLogSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, _request: Request, **_: str) -> Response:
        """Ask for it no longer."""
        log = self.get_object()
        services.cancel_log(log=log, now=timezone.now())
        return Response(DeviceLogSerializer(log).data)


class DeviceLogLineFilter(serializers.Serializer[None]):
    """Which lines to list."""

    level = ChoiceField(DeviceLogLine.Level.choices, required=False)


@extend_schema_view(list=extend_schema(operation_id="device_logs_lines"))
class DeviceLogLineViewSet(ListedViewSet[DeviceLogLine]):
    """The lines of one log, oldest first; they are removed after a while."""

    queryset = DeviceLogLine.objects.all()
    serializer_class = DeviceLogLineSerializer
    filters = DeviceLogLineFilter
    sorts = {"at": "at"}
    searched = ("text", "source")

    def get_queryset(self) -> QuerySet[DeviceLogLine]:
        """Of the log in the path."""
        log = get_object_or_404(DeviceLog, pk=self.kwargs["log"])
        return super().get_queryset().filter(log=log)


class SendsLogSerializer(serializers.Serializer[None]):
    """Whether a device can send its log."""

    reason_code = serializers.CharField(help_text="why it cannot, whatever its owner says; blank: it can")
    reason_sentence = serializers.CharField()


class SendsLogView(APIView):
    """Can this device send its log?"""

    @extend_schema(responses=SendsLogSerializer, operation_id="devices_sends_log")
    def get(self, _request: Request, pk: UUID) -> Response:
        """As the device tells: phones keep no log, and an owner may let nobody have one."""
        why = why_no_log(get_object_or_404(Device, pk=pk))
        code, sentence = ("", "") if why is None else (why.code, why.sentence)
        return Response({"reason_code": code, "reason_sentence": sentence})
