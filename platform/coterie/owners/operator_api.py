"""What operators do for owners of devices, in the REST API."""

from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.fleet.models import Device
from coterie.owners import services
from coterie.owners.exporting import export_of
from coterie.owners.models import Forgetting, Rebuild
from coterie.owners.selectors import news_of, outcome_of
from coterie_wire.owning import ForgetNews, HoldsUpdate, PlatformExport, Rebuilt


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


class RebuiltSerializer(serializers.Serializer[Rebuilt]):
    """What became of a federation's models, whose plan promises to be without devices that are forgotten."""

    federation = serializers.CharField()
    done = serializers.BooleanField(
        help_text="no version of the federation that has its parameters still holds the device"
    )
    sentence = serializers.CharField()
    version = serializers.IntegerField(help_text="that took their place; 0: none was needed, or there is none yet")
    repeated = serializers.IntegerField(help_text="merges; 0: rounds begin again from a version before the device")
    retired = serializers.IntegerField(help_text="versions that held it and have no parameters any more")
    elsewhere = serializers.IntegerField(
        help_text="versions outside the federation that went on from one that holds it, and stay"
    )
    done_at = serializers.DateTimeField(allow_null=True, help_text="null: it is not done")


class ForgettingSerializer(serializers.Serializer[ForgetNews]):
    """The receipt of a device that was forgotten."""

    receipt = serializers.UUIDField(help_text="its number: whoever has it may ask the platform how far it is")
    done = serializers.BooleanField(help_text="nothing is left to be removed")
    sentence = serializers.CharField()
    asked_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True, help_text="null: it is not done")
    device = serializers.UUIDField()
    taken_out = serializers.IntegerField(help_text="updates that went into no merge any more")
    removed = serializers.DictField(child=serializers.IntegerField(), help_text="rows by section of the export")
    holds = HoldsUpdateSerializer(many=True, help_text="versions known to hold its updates, oldest first")
    versions = serializers.IntegerField(help_text="how many such versions there are")
    rebuilt = RebuiltSerializer(many=True, help_text="federations whose plans promise to be without the device")


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


class RebuildSerializer(serializers.ModelSerializer[Rebuild]):
    """A lineage that is made again without a device that was forgotten; it does not say which."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    base_number = serializers.IntegerField(source="base.number", read_only=True, allow_null=True)
    result_number = serializers.IntegerField(source="result_version.number", read_only=True, allow_null=True)
    repeated = serializers.SerializerMethodField(help_text="merges that were repeated")
    sentence = serializers.SerializerMethodField(help_text="what it has come to, or what it does or waits for")

    class Meta:
        model = Rebuild
        fields = [
            "id",
            "federation",
            "federation_slug",
            "state",
            "reason_code",
            "sentence",
            "base",
            "base_number",
            "result_version",
            "result_number",
            "repeated",
            "to_repeat",
            "restart_code",
            "restart_sentence",
            "retired",
            "retired_bytes",
            "elsewhere",
            "asked_at",
            "finished_at",
        ]
        read_only_fields = fields

    def get_repeated(self, rebuild: Rebuild) -> int:
        """Merges that were repeated."""
        return len(rebuild.merges)

    def get_sentence(self, rebuild: Rebuild) -> str:
        """What it has come to, or what it does or waits for."""
        return outcome_of(rebuild) if rebuild.state == Rebuild.State.DONE else rebuild.reason_sentence


class RebuildFilter(serializers.Serializer[None]):
    """Which rebuilds to list."""

    federation = serializers.UUIDField(required=False)
    state = ChoiceField(Rebuild.State.choices, required=False)


class RebuildViewSet(ListedViewSet[Rebuild]):
    """Lineages that are made again without a device, as a plan promises; the platform does it by itself."""

    queryset = Rebuild.objects.select_related("federation", "base", "result_version")
    serializer_class = RebuildSerializer
    filters = RebuildFilter
    sorts = {name: name for name in ("asked_at", "finished_at")}

    def narrowed(self, rows: QuerySet[Rebuild], query: QueryParameters) -> QuerySet[Rebuild]:
        """By federation and state."""
        return rows.filter(**query)
