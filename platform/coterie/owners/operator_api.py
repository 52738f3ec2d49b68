"""What operators do for owners of devices, in the REST API."""

from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.fleet.models import Device
from coterie.owners import services
from coterie.owners.exporting import export_of
from coterie.owners.models import Forgetting
from coterie.owners.selectors import news_of
from coterie_wire.owning import ForgetNews, HoldsUpdate, PlatformExport


class ExportSerializer(serializers.Serializer[PlatformExport]):
    """All that the platform knows of a device."""

    format = serializers.CharField(help_text="docs/reference/device-export.schema.json says what is in it")
    at = serializers.DateTimeField()
    device = serializers.UUIDField()
    sections = serializers.DictField(
        child=serializers.ListField(child=serializers.DictField()), help_text="rows by section"
    )


class ExportView(APIView):
    """What does the platform know of this device?"""

    @extend_schema(responses=ExportSerializer, operation_id="devices_export")
    def get(self, _request: Request, pk: UUID) -> HttpResponse:
        """All of it in one document, for the device's owner: no secret is in it, and nothing of other devices."""
        device = get_object_or_404(Device, pk=pk)
        document = msgspec.json.encode(export_of(device, now=timezone.now()))
        name = f'attachment; filename="device-{device.pk}.json"'
        return HttpResponse(document, content_type="application/json", headers={"Content-Disposition": name})


class HoldsUpdateSerializer(serializers.Serializer[HoldsUpdate]):
    """A version that was made with an update of the device."""

    federation = serializers.CharField()
    version = serializers.IntegerField()
    version_id = serializers.UUIDField()
    at = serializers.DateTimeField()
    in_sum = serializers.BooleanField(help_text="the update came in a sum, from which nobody could have taken it")


class ForgettingSerializer(serializers.Serializer[ForgetNews]):
    """The receipt of a device that was forgotten."""

    receipt = serializers.UUIDField(help_text="its number: whoever has it may ask the platform how far it is")
    done = serializers.BooleanField(help_text="nothing is left to be removed")
    sentence = serializers.CharField()
    asked_at = serializers.DateTimeField()
    device = serializers.UUIDField()
    taken_out = serializers.IntegerField(help_text="updates that went into no merge any more")
    removed = serializers.DictField(child=serializers.IntegerField(), help_text="rows by section of the export")
    holds = HoldsUpdateSerializer(many=True, help_text="versions known to hold its updates, oldest first")
    versions = serializers.IntegerField(help_text="how many such versions there are")


class ForgetView(APIView):
    """A device that is to be forgotten."""

    @extend_schema(request=None, responses=ForgettingSerializer, operation_id="devices_forget")
    def post(self, _request: Request, pk: UUID) -> Response:
        """End its credential, take its updates out of rounds, remove what is kept of it. This cannot be undone."""
        device = get_object_or_404(Device, pk=pk)
        forgetting = services.forget_device(device=device, now=timezone.now())
        return Response(ForgettingSerializer(news_of(forgetting)).data)


class ForgettingStateSerializer(serializers.Serializer[None]):
    """Whether a device was forgotten."""

    forgetting = ForgettingSerializer(allow_null=True, help_text="the receipt; null: nobody has asked")


class ForgettingView(APIView):
    """The receipt of a device that was forgotten."""

    @extend_schema(responses=ForgettingStateSerializer, operation_id="devices_forgetting")
    def get(self, _request: Request, pk: UUID) -> Response:
        """How far it is, and which versions are known to hold its updates."""
        forgetting = Forgetting.objects.filter(device=get_object_or_404(Device, pk=pk)).first()
        receipt = None if forgetting is None else ForgettingSerializer(news_of(forgetting)).data
        return Response({"forgetting": receipt})
