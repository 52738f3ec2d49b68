"""How the personal models of a federation's devices do against its version, in the operators' REST API."""

from typing import get_args
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.choice_field import ChoiceField
from coterie.federations.models import Federation
from coterie.transfer.personal import PersonalModels, Spread, TrainedWhen, personal_models_of


class SpreadSerializer(serializers.Serializer[Spread]):
    """Accuracies over devices, each counted once."""

    median = serializers.FloatField()
    worst_decile = serializers.FloatField(help_text="mean of the worst tenth of devices")
    tenths = serializers.ListField(
        child=serializers.IntegerField(), help_text="devices with an accuracy of 0 to 0.1, 0.1 to 0.2, … 0.9 to 1"
    )


class PersonalModelsSerializer(serializers.Serializer[PersonalModels]):
    """What devices tell of their personal models: figures on samples that they hold out."""

    trained = ChoiceField(
        get_args(TrainedWhen), allow_null=True, help_text="when devices train them; null: they have none under its plan"
    )
    count = serializers.IntegerField(help_text="devices that have told")
    answering = serializers.IntegerField(help_text="devices whose personal model answers")
    answers = SpreadSerializer(allow_null=True, help_text="of what answers; null: nobody tells accuracies")
    version = SpreadSerializer(allow_null=True, help_text="of the version, on the same devices and samples")


class PersonalModelsView(APIView):
    """Whom do personal models serve?"""

    @extend_schema(responses=PersonalModelsSerializer, operation_id="federations_personal_models")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Personal models against the version, over the federation's devices."""
        federation = get_object_or_404(Federation, pk=pk)
        return Response(PersonalModelsSerializer(personal_models_of(federation)).data)
