"""Repairs in the operators' REST API."""

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.repairs import services
from coterie.repairs.models import Mute


class RemedySerializer(serializers.Serializer[None]):
    """A button."""

    title = serializers.CharField()
    action = serializers.CharField(help_text="what the session must allow; blank: everybody may")
    method = ChoiceField(["GET", "POST"])
    path = serializers.CharField(help_text="of the REST API; with GET the list to show")


class RepairSerializer(serializers.Serializer[None]):
    """A fault, what to do, and what does it."""

    key = serializers.CharField()
    code = serializers.CharField()
    severity = ChoiceField(["error", "warning"])
    sentence = serializers.CharField()
    advice = serializers.CharField()
    subject_kind = serializers.CharField()
    subject_id = serializers.CharField()
    subject_name = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    remedies = RemedySerializer(many=True)


class RepairsView(APIView):
    """What is wrong now."""

    @extend_schema(responses=RepairSerializer(many=True), operation_id="repairs_now")
    def get(self, _request: Request) -> Response:
        """Faults that are not muted, errors first. There are few: each kind is one, or one of a thing."""
        return Response([asdict(repair) for repair in services.shown(now=timezone.now())])


class MuteSerializer(serializers.ModelSerializer[Mute]):
    """A fault that is not shown."""

    key = serializers.CharField(max_length=150)
    until = serializers.DateTimeField(allow_null=True, default=None, help_text="null: ignore it for good")

    class Meta:
        model = Mute
        fields = ["id", "key", "sentence", "until", "muted_at"]
        read_only_fields = ["id", "sentence", "muted_at"]


class MuteViewSet(ListedViewSet[Mute]):
    """Faults that operators do not want to see: ignored, or snoozed until a moment."""

    queryset = Mute.objects.all()
    serializer_class = MuteSerializer
    sorts = {name: name for name in ("until", "muted_at")}

    @extend_schema(request=MuteSerializer, responses={201: MuteSerializer})
    def create(self, request: Request) -> Response:
        """Ignore a fault, or snooze it."""
        wanted = MuteSerializer(data=request.data)
        check_body(wanted)
        mute = services.mute_repair(**wanted.validated_data, now=timezone.now())
        return Response(MuteSerializer(mute).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, pk: str) -> Response:
        """Show it again while it is there."""
        services.restore_repair(mute=get_object_or_404(Mute, pk=pk))
        return Response(status=status.HTTP_204_NO_CONTENT)
