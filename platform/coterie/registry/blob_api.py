"""Stored files in the REST API: whether they are sound, and their repair."""

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.acting import OperatorRole, current_actor
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.registry import services
from coterie.registry.models import Blob


class BlobSerializer(serializers.ModelSerializer[Blob]):
    """A stored file, without its bytes."""

    class Meta:
        model = Blob
        fields = ["sha256", "size_bytes", "created_at", "removed_at", "verified_at", "damaged_at"]
        read_only_fields = fields


class BlobFilter(serializers.Serializer[None]):
    """Which files to list."""

    damaged = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="or lost")


class BlobViewSet(ListedViewSet[Blob]):
    """Models, graphs, programs and data sets as files, by their SHA-256."""

    queryset = Blob.objects.all()
    serializer_class = BlobSerializer
    filters = BlobFilter
    sorts = {name: name for name in ("size_bytes", "created_at", "verified_at", "damaged_at")}
    searched = ("sha256",)

    def get_queryset(self) -> QuerySet[Blob]:
        """All; a file may be of several projects, so only for who has a role in the installation."""
        current_actor().require_in_installation(OperatorRole.VIEWER)
        return super().get_queryset()

    def narrowed(self, rows: QuerySet[Blob], query: QueryParameters) -> QuerySet[Blob]:
        """By whether they are damaged."""
        return rows.filter(damaged_at__isnull=not query["damaged"]) if "damaged" in query else rows

    @extend_schema(request=None, responses=BlobSerializer)
    @action(detail=True, methods=["post"])
    def repair(self, _request: Request, **_: str) -> Response:
        """Read it again, and replace it where it is damaged and a directory of COTERIE_COPIES has it."""
        return Response(BlobSerializer(services.repair_blob(blob=self.get_object(), now=timezone.now())).data)
