"""Two versions side by side: their figures, and how devices fare with each."""

from collections.abc import Iterable
from dataclasses import asdict
from uuid import UUID

from django.db.models import Avg, Count, F, FloatField, Sum
from django.db.models.functions import Cast
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.evaluation.device_accuracy import device_accuracy
from coterie.fleet.models import Device
from coterie.merging.models import Update
from coterie.registry.graph import Figure, class_figures_of, figures_of
from coterie.registry.models import ModelVersion
from coterie.registry.operator_api import VersionSerializer


class FigureSerializer(serializers.Serializer[None]):
    """One metric of two versions."""

    name = serializers.CharField()
    first = serializers.FloatField(allow_null=True)
    second = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True, help_text="the second's minus the first's")


class ComparisonSerializer(serializers.Serializer[None]):
    """Two versions side by side."""

    first = VersionSerializer()
    second = VersionSerializer()
    figures = FigureSerializer(many=True)
    classes = FigureSerializer(
        many=True, help_text="accuracy by class; null: no sample of it; empty: it was measured of neither"
    )


class ComparisonView(APIView):
    """Two versions side by side."""

    @extend_schema(responses=ComparisonSerializer, operation_id="versions_compare")
    def get(self, _request: Request, first: UUID, second: UUID) -> Response:
        """Metrics, size, how many devices hold each, how exact it is on their own samples and how quickly it trains."""
        versions = ModelVersion.objects.select_related("pair", "parameters").prefetch_related("aliases")
        one, other = (get_object_or_404(versions, pk=pk) for pk in (first, second))
        return Response(
            {
                "first": VersionSerializer(one).data,
                "second": VersionSerializer(other).data,
                "figures": _rows([*figures_of(one, other), *_on_devices(one, other)]),
                "classes": _rows(class_figures_of(one, other)),
            }
        )


def _rows(figures: Iterable[Figure]) -> list[dict[str, object]]:
    return [{**asdict(figure), "difference": figure.difference} for figure in figures]


def _on_devices(*versions: ModelVersion) -> list[Figure]:
    both = [_fare(version) for version in versions]
    return [Figure(name, both[0][name], both[1][name]) for name in both[0]]


def _fare(version: ModelVersion) -> dict[str, float | None]:
    """What devices measured that began a round with this version, weighted by samples."""
    updates = Update.objects.filter(base_version=version)
    sums = updates.aggregate(
        right=Sum(F("accuracy_before") * Cast("samples", FloatField())), samples=Sum("samples"), rounds=Count("pk")
    )
    measured = updates.values_list("accuracy_before", flat=True)
    accuracies = [accuracy for accuracy in measured if accuracy is not None]
    over_devices = device_accuracy(accuracies) if accuracies else None
    holders = Device.objects.filter(held_version=str(version.pk), state=Device.State.ENROLLED)
    return {
        "devices_holding": holders.count(),
        "device_accuracy": sums["right"] / sums["samples"] if sums["samples"] else None,
        "device_accuracy_median": None if over_devices is None else over_devices.median,
        "device_accuracy_worst_decile": None if over_devices is None else over_devices.worst_decile,
        "device_measurements": sums["rounds"],
        "train_step_s": holders.aggregate(mean=Avg("train_step_s"))["mean"],
    }
