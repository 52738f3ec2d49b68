"""Who reports through whom in a round, and why, in the operators' REST API."""

from collections.abc import Mapping

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.rounds.models import Fold, Round, Route


class RouteSerializer(serializers.ModelSerializer[Route]):
    """By what way one update comes."""

    device = serializers.UUIDField(source="assignment.device_id", read_only=True)
    device_name = serializers.CharField(source="assignment.device.name", read_only=True)
    supernode_name = serializers.CharField(source="supernode.name", read_only=True, allow_null=True, default=None)

    class Meta:
        model = Route
        fields = [
            "device",
            "device_name",
            "supernode",
            "supernode_name",
            "epoch",
            "reason_code",
            "reason_sentence",
            "held_at",
        ]
        read_only_fields = fields


class FoldSerializer(serializers.ModelSerializer[Fold]):
    """A sum that a supernode was asked for, and by what way it comes."""

    supernode_name = serializers.CharField(source="supernode.name", read_only=True)
    parent_name = serializers.CharField(source="parent.name", read_only=True, allow_null=True, default=None)
    updates = serializers.SerializerMethodField(help_text="that its supernode holds: in the sum, or left out of it")

    class Meta:
        model = Fold
        fields = [
            "id",
            "supernode",
            "supernode_name",
            "parent",
            "parent_name",
            "tier",
            "way_code",
            "way_sentence",
            "state",
            "reason_code",
            "reason_sentence",
            "asked_at",
            "held_at",
            "updates",
            "size_bytes",
        ]
        read_only_fields = fields

    def get_updates(self, fold: Fold) -> int:
        """How many."""
        return len(fold.shares)


class RoutesSerializer(serializers.Serializer[Mapping[str, object]]):
    """The ways of a round's updates."""

    routes = RouteSerializer(many=True, help_text="empty where every device sends to the platform")
    folds = FoldSerializer(many=True, help_text="the newest first")


class RoutesView(APIView):
    """Who reports through whom?"""

    @extend_schema(responses=RoutesSerializer, operation_id="rounds_routes")
    def get(self, _request: Request, pk: int) -> Response:
        """The way of every device's update in a round with the reason for it, and the sums of supernodes."""
        round_ = get_object_or_404(Round, pk=pk)
        routes = Route.objects.filter(assignment__round=round_).select_related("assignment__device", "supernode")
        ways = sorted(routes, key=lambda route: route.assignment.device.name)
        found = {"routes": ways, "folds": list(round_.folds.select_related("supernode", "parent"))}
        return Response(RoutesSerializer(found).data)
