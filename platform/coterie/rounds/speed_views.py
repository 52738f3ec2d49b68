"""How quick the devices of a pair are, in classes."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.fleet.models import Device, DeviceLatency
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.rounds.speed_classes import Speed, classify
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_values

LATEST = 10_000
"""Figures that are read, of those told last."""
MACHINES = 3
"""Kinds of machines that are named of a class."""


class ClassSpeedSerializer(serializers.Serializer[None]):
    """How long one kind of work takes in a class."""

    work = serializers.ChoiceField(["step", "predict"], help_text="a train step on a batch, or a run of the model")
    form = serializers.CharField(help_text="which form of the version; float32 is the version itself")
    charging = serializers.ChoiceField(["yes", "no", "unknown"], help_text="while it was measured")
    devices = serializers.IntegerField(help_text="devices that have measured it")
    p50_s = serializers.FloatField()
    p90_s = serializers.FloatField()
    p99_s = serializers.FloatField()


class SpeedClassSerializer(serializers.Serializer[None]):
    """Devices that are about as quick as one another."""

    devices = serializers.IntegerField()
    machines = serializers.ListField(child=serializers.CharField(), help_text="the most frequent first")
    speeds = ClassSpeedSerializer(many=True)


class SpeedClassesView(APIView):
    """How quick the devices of a pair are, in classes."""

    @extend_schema(responses=SpeedClassSerializer(many=True), operation_id="pairs_speed_classes")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Classes as the devices' own figures divide them, the quickest first, with times by form and condition."""
        pair = get_object_or_404(ModelPair, pk=pk)
        versions = ModelVersion.objects.filter(pair=pair, role=Role.DEVICE).values("pk")
        rows = DeviceLatency.objects.filter(version__in=versions, device__state=Device.State.ENROLLED)
        newest = rows.select_related("device").order_by("-at", "-pk")[:LATEST]
        classes = classify([_speed(row) for row in newest])
        return Response(
            [
                {
                    "devices": one.devices,
                    "machines": one.machines[:MACHINES],
                    "speeds": [speed._asdict() for speed in one.speeds],
                }
                for one in classes
            ]
        )


def _speed(row: DeviceLatency) -> Speed:
    capabilities = row.device.capabilities
    cores = capabilities.get("cores", 1)
    machine = f"{capabilities.get('machine', 'unknown')}, {cores} core{'s' * (cores != 1)}"
    durations = from_values(row.durations, Histogram)
    return Speed(row.device_id, machine, row.work, row.form, row.charging, row.p50_s, durations)
