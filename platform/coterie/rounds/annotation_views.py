"""What happened to a federation, in the operators' REST API."""

from collections.abc import Sequence
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.choice_field import ChoiceField
from coterie.federations.models import Federation
from coterie.rounds.annotations import KINDS, Annotation, annotations_of


class AnnotationSerializer(serializers.Serializer[Sequence[Annotation]]):
    """Something that happened to a federation, beside its rounds."""

    at = serializers.DateTimeField()
    kind = ChoiceField(KINDS)
    # Not "label": that is what a field calls itself.
    mark = serializers.CharField(source="label", help_text="a word or two, for beside a mark on a chart")
    sentence = serializers.CharField()


class AnnotationsView(APIView):
    """What bends a federation's curves."""

    @extend_schema(responses=AnnotationSerializer(many=True), operation_id="federations_annotations")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Changed plans, versions tried, promoted and rolled back, drift, starts and pauses: the newest 200 by time."""
        federation = get_object_or_404(Federation, pk=pk)
        return Response(AnnotationSerializer(annotations_of(federation), many=True).data)
