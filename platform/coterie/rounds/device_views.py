"""What the REST API tells and does about one device, or many, that concerns rounds: why, its parts, pause, pin."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import msgspec
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.fleet import services as fleet
from coterie.fleet.models import Device
from coterie.fleet.operator_api import DeviceSerializer, ReasonSerializer
from coterie.registry.models import ModelVersion
from coterie.rounds import steering
from coterie.rounds.directives import why_not_training
from coterie.rounds.traffic import KINDS, Departure, departures_of

AT_ONCE = 500
"""Most devices of one request."""
DEPARTURES_FOR = timedelta(days=30)


class WhySerializer(serializers.Serializer[None]):
    """Why a device does not train now."""

    training = serializers.BooleanField(help_text="it has an assignment and works on it")
    reasons = ReasonSerializer(many=True, help_text="empty where it trains")


class WhyView(APIView):
    """Why is nothing happening on this device?"""

    @extend_schema(responses=WhySerializer, operation_id="devices_why")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Every reason, the operator's own decisions and its federation's among them."""
        why = why_not_training(get_object_or_404(Device, pk=pk), now=timezone.now())
        return Response({"training": not why, "reasons": msgspec.to_builtins(why)})


class DepartureSerializer(serializers.Serializer[Departure]):
    """Something that left a device."""

    kind = ChoiceField(KINDS, help_text="an update to a round, a model portion, or profiles of its data")
    at = serializers.DateTimeField(help_text="of profiles, when the last of that day was told")
    size_bytes = serializers.IntegerField()
    count = serializers.IntegerField(help_text="profiles are counted by the day")
    federation = serializers.UUIDField()
    federation_slug = serializers.CharField()
    federation_name = serializers.CharField()
    target = serializers.UUIDField(allow_null=True, help_text="the device that a portion was for")
    target_name = serializers.CharField()


class DeparturesView(APIView):
    """What has left this device?"""

    @extend_schema(responses=DepartureSerializer(many=True), operation_id="devices_departures")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Everything of the last 30 days but the check-ins themselves, youngest first; samples never leave it."""
        device = get_object_or_404(Device, pk=pk)
        departures = departures_of(device, since=timezone.now() - DEPARTURES_FOR)
        return Response([DepartureSerializer(departure).data for departure in departures])


class PauseView(APIView):
    """A device that an operator lets rest."""

    @extend_schema(request=None, responses=DeviceSerializer, operation_id="devices_pause")
    def post(self, _request: Request, pk: UUID) -> Response:
        """Let it rest: it gives back what it works on, and no round asks it."""
        device = get_object_or_404(Device, pk=pk)
        steering.pause_device(device=device, now=timezone.now())
        return Response(DeviceSerializer(device).data)


class ResumeView(APIView):
    """A device that shall work again."""

    @extend_schema(request=None, responses=DeviceSerializer, operation_id="devices_resume")
    def post(self, _request: Request, pk: UUID) -> Response:
        """Let rounds ask it again."""
        device = get_object_or_404(Device, pk=pk)
        fleet.resume_device(device=device, now=timezone.now())
        return Response(DeviceSerializer(device).data)


class PinSerializer(serializers.Serializer[None]):
    """Which version a device is kept on."""

    version = serializers.PrimaryKeyRelatedField(
        queryset=ModelVersion.objects.all(), allow_null=True, help_text="of a device model; null: follow again"
    )


class PinView(APIView):
    """A device that is kept on one version."""

    @extend_schema(request=PinSerializer, responses=DeviceSerializer, operation_id="devices_pin")
    def post(self, request: Request, pk: UUID) -> Response:
        """Keep it on a version, out of rounds, or let it follow its federation again."""
        device = get_object_or_404(Device, pk=pk)
        wanted = PinSerializer(data=request.data)
        check_body(wanted)
        steering.pin_device(device=device, version=wanted.validated_data["version"], now=timezone.now())
        return Response(DeviceSerializer(device).data)


Action = Callable[[Device, list[str], datetime], None]
ACTIONS: Mapping[str, Action] = {
    "add_tags": lambda device, tags, _now: fleet.change_device(device=device, tags=[*device.tags, *tags]),
    "remove_tags": lambda device, tags, _now: fleet.change_device(
        device=device, tags=[tag for tag in device.tags if tag not in tags]
    ),
    "pause": lambda device, _tags, now: steering.pause_device(device=device, now=now),
    "resume": lambda device, _tags, now: fleet.resume_device(device=device, now=now),
    "revoke": lambda device, _tags, now: fleet.revoke_device(device=device, now=now),
}


class DeviceActionSerializer(serializers.Serializer[None]):
    """One action on many devices."""

    action = ChoiceField(list(ACTIONS))
    devices = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=AT_ONCE)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=50), default=list, help_text="of add_tags and remove_tags"
    )

    def validate_devices(self, wanted: list[UUID]) -> list[Device]:
        """Raises ValidationError that names the devices that are none."""
        devices = list(Device.objects.filter(pk__in=wanted))
        strangers = sorted(map(str, set(wanted) - {device.pk for device in devices}))
        if strangers:
            raise serializers.ValidationError(f"there is no device {', '.join(strangers[:10])}")
        return devices


class DoneSerializer(serializers.Serializer[None]):
    """How many devices were acted on."""

    devices = serializers.IntegerField()


class DeviceActionsView(APIView):
    """Actions on many devices."""

    @extend_schema(request=DeviceActionSerializer, responses=DoneSerializer, operation_id="device_actions_create")
    def post(self, request: Request) -> Response:
        """Do one thing to each of the devices, or to none if one of them cannot."""
        wanted = DeviceActionSerializer(data=request.data)
        check_body(wanted)
        devices = cast(list[Device], wanted.validated_data["devices"])
        action, tags, now = ACTIONS[wanted.validated_data["action"]], wanted.validated_data["tags"], timezone.now()
        with transaction.atomic():
            for device in devices:
                action(device, tags, now)
        return Response({"devices": len(devices)})
