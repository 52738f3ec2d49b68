"""Whose data are like a device's: class shares side by side, as devices told them, in the operators' REST API."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.fleet.models import Device
from coterie.transfer.models import DeviceProfile
from coterie.transfer.neighbourhood import nearest_to_profile, prior_of

SHOWN = 5
"""Neighbours of one answer."""


class ClassSharesSerializer(serializers.Serializer[None]):
    """What a device last told of its data."""

    device = serializers.UUIDField()
    device_name = serializers.CharField()
    divergence = serializers.FloatField(
        help_text="Jensen-Shannon divergence of both devices' class shares, in bits; 0: they are alike, 1: nothing is"
    )
    prior = serializers.ListField(child=serializers.FloatField(), help_text="share of each class, by its number")
    error = serializers.FloatField(allow_null=True, help_text="share of its samples that it had wrong; null: untold")
    drifting = serializers.BooleanField(help_text="its own model fails it")
    willing = serializers.BooleanField(help_text="its owner lets it help")
    updated_at = serializers.DateTimeField()


class NeighbourhoodSerializer(serializers.Serializer[None]):
    """A device among those of one federation whose data are most like its own."""

    federation = serializers.UUIDField()
    federation_slug = serializers.CharField()
    federation_name = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField(), help_text="what the classes are called")
    own = ClassSharesSerializer()
    neighbours = ClassSharesSerializer(many=True, help_text="nearest first")


class NeighboursView(APIView):
    """Which devices meet the same things?"""

    @extend_schema(responses=NeighbourhoodSerializer(many=True), operation_id="devices_neighbours")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Class shares of the device and its nearest neighbours, in each federation that it told of its data."""
        device = get_object_or_404(Device, pk=pk)
        reported = DeviceProfile.objects.filter(device=device, device__state=Device.State.ENROLLED)
        return Response([_neighbourhood(own) for own in reported.select_related("device", "federation__pair")])


def _neighbourhood(own: DeviceProfile) -> dict[str, object]:
    pair = own.federation.pair
    classes = pair.model_spec().classes
    found = nearest_to_profile(own, limit=SHOWN)
    rows = DeviceProfile.objects.filter(federation=own.federation, device__in=[one.device for one in found])
    rows = rows.filter(device__state=Device.State.ENROLLED)
    by_device = {row.device_id: row for row in rows.select_related("device")}
    return {
        "federation": own.federation_id,
        "federation_slug": own.federation.slug,
        "federation_name": own.federation.name,
        "labels": pair.labels,
        "own": _shares(own, 0.0, classes),
        "neighbours": [
            _shares(by_device[one.device], one.divergence, classes) for one in found if one.device in by_device
        ],
    }


def _shares(row: DeviceProfile, divergence: float, classes: int) -> dict[str, object]:
    profile = row.profile()
    return {
        "device": row.device_id,
        "device_name": row.device.name,
        "divergence": divergence,
        "prior": prior_of(profile, classes),
        "error": profile.error,
        "drifting": profile.drifting,
        "willing": profile.willing,
        "updated_at": row.updated_at,
    }
