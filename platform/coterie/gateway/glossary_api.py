"""The glossary, for the console and for programs that explain what they show."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.glossary import GLOSSARY, Term


class TermSerializer(serializers.Serializer[Term]):
    """A word and what it means."""

    name = serializers.CharField()
    meaning = serializers.CharField()


class GlossaryView(APIView):
    """The words of this project."""

    @extend_schema(responses=TermSerializer(many=True), operation_id="glossary", tags=["platform"])
    def get(self, _request: Request) -> Response:
        """Every term with its meaning, in the order of their names."""
        return Response([term._asdict() for term in GLOSSARY])
