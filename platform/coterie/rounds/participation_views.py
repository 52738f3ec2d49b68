"""How evenly a federation's rounds ask its devices, in the operators' REST API."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.federations.models import Federation
from coterie.rounds.histories import Participation, participation_of


class IdleSerializer(serializers.Serializer[None]):
    """Devices that were asked equally long ago."""

    rounds = serializers.IntegerField(help_text="since they were asked; 0: the newest round asked them")
    devices = serializers.IntegerField()


class ParticipationSerializer(serializers.Serializer[Participation]):
    """For how many rounds the devices that are ready and able have not been asked."""

    round_number = serializers.IntegerField(help_text="of the newest round; 0: there was none")
    never = serializers.IntegerField(help_text="devices that none of the latest 200 rounds asked")
    median = serializers.IntegerField(allow_null=True, help_text="rounds since a device was asked; null: none was")
    longest = serializers.IntegerField(allow_null=True, help_text="the same of the one that has waited longest")
    by_rounds = IdleSerializer(many=True, source="listed")


class ParticipationView(APIView):
    """Is every device asked?"""

    @extend_schema(responses=ParticipationSerializer, operation_id="federations_participation")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Rounds since each device that is ready and able was asked."""
        federation = get_object_or_404(Federation, pk=pk)
        return Response(ParticipationSerializer(participation_of(federation, now=timezone.now())).data)
