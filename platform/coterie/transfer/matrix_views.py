"""Who helped whom, in the operators' REST API."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.choice_field import ChoiceField
from coterie.transfer.helping_matrix import Cell, HelpingMatrix, Side, helping_matrix
from coterie.transfer.models import Transfer


class SideSerializer(serializers.Serializer[Side]):
    """A row or a column."""

    name = serializers.CharField(help_text="of a device; or the tags of a group; or others")
    device = serializers.UUIDField(allow_null=True, help_text="null: a group, or all others")
    devices = serializers.IntegerField()
    transfers = serializers.IntegerField()


class CellSerializer(serializers.Serializer[Cell]):
    """What became of the transfers from a row to a column."""

    helper = serializers.IntegerField(help_text="place of the row, from 0")
    target = serializers.IntegerField(help_text="place of the column, from 0")
    kept = serializers.IntegerField()
    undone = serializers.IntegerField()
    open = serializers.IntegerField(help_text="under way, or not judged yet")
    failed = serializers.IntegerField(help_text="declined, rejected, expired or withdrawn")


class HelpingMatrixSerializer(serializers.Serializer[HelpingMatrix]):
    """Helpers as rows, those that were helped as columns; the 20 with most transfers of each, and all others."""

    by = ChoiceField(["device", "tags"], help_text="what rows and columns are; tags where devices are many")
    transfers = serializers.IntegerField()
    helpers = SideSerializer(many=True)
    targets = SideSerializer(many=True)
    cells = CellSerializer(many=True, help_text="those in which there is a transfer")


class HelpingMatrixView(APIView):
    """Who helped whom."""

    @extend_schema(responses=HelpingMatrixSerializer, operation_id="helping_matrix")
    def get(self, _request: Request) -> Response:
        """All transfers, by helper and by the device that asked."""
        return Response(HelpingMatrixSerializer(helping_matrix(Transfer.objects.all())).data)
