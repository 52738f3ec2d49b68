"""Alliances in the operators' REST API."""

from base64 import urlsafe_b64encode

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.alliances import services
from coterie.alliances.models import Alliance, Party
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion


class AlliancePartySerializer(serializers.ModelSerializer[Party]):
    """One device in an alliance."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    key = serializers.SerializerMethodField(help_text="public; null: its owner has not agreed yet")

    class Meta:
        model = Party
        fields = [
            "role",
            "device",
            "device_name",
            "version",
            "key",
            "people",
            "columns",
            "joined_at",
            "seen_at",
            "finished_at",
            "sent",
            "sent_bytes",
            "taken",
        ]
        read_only_fields = fields

    def get_key(self, party: Party) -> str | None:
        """As ``coterie-agent ally`` prints it."""
        return None if party.key is None else urlsafe_b64encode(bytes(party.key)).decode().rstrip("=")


class AllianceEpochSerializer(serializers.Serializer[None]):
    """What the party with the labels found after an epoch."""

    epoch = serializers.IntegerField(help_text="epochs that had ended")
    loss = serializers.FloatField(help_text="mean over the batches")
    accuracy = serializers.FloatField(help_text="on the people held out")


class AllianceTermsSerializer(serializers.Serializer[None]):
    """What the parties agree on."""

    epochs = serializers.IntegerField()
    learning_rate = serializers.FloatField(help_text="of the first epoch; it falls to nothing by equal steps")
    momentum = serializers.FloatField()
    noise = serializers.FloatField(
        help_text="of gradients over the cut, as a multiple of their mean length; 0: labels are not hidden"
    )
    held_share = serializers.FloatField(help_text="of the common people with a label: measured, never trained on")
    least_rows = serializers.IntegerField(help_text="common people that are needed")
    seed = serializers.IntegerField(help_text="of the order in which people are trained on")


class AllianceSerializer(serializers.ModelSerializer[Alliance]):
    """Two devices that train one network together, each with its own columns."""

    parties = AlliancePartySerializer(many=True, read_only=True)
    terms = AllianceTermsSerializer(read_only=True)
    history = serializers.SerializerMethodField(help_text="epochs that were told of, in their order")

    class Meta:
        model = Alliance
        fields = [
            "id",
            "name",
            "terms",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "begun_at",
            "ended_at",
            "common",
            "epoch",
            "loss",
            "accuracy",
            "alone",
            "history",
            "parties",
        ]
        read_only_fields = fields

    @extend_schema_field(AllianceEpochSerializer(many=True))
    def get_history(self, alliance: Alliance) -> list[dict[str, object]]:
        """Each by name."""
        return [dict(zip(("epoch", "loss", "accuracy"), told, strict=True)) for told in alliance.history or []]


class BeginAllianceSerializer(serializers.Serializer[None]):
    """Who trains what together."""

    name = serializers.CharField(max_length=100)
    columns_device = serializers.PrimaryKeyRelatedField(
        queryset=Device.objects.all(), help_text="the one with columns alone"
    )
    columns_version = serializers.PrimaryKeyRelatedField(
        queryset=ModelVersion.objects.select_related("pair"),
        help_text="the lower half of the network, of a pair with loss given_gradient",
    )
    labels_device = serializers.PrimaryKeyRelatedField(
        queryset=Device.objects.all(), help_text="the one that has the labels, too"
    )
    labels_version = serializers.PrimaryKeyRelatedField(
        queryset=ModelVersion.objects.select_related("pair"),
        help_text="the upper half, of a pair whose recipe has a cut",
    )
    terms = serializers.DictField(
        default=dict,
        help_text="epochs, learning_rate, momentum, noise, held_share, least_rows, seed; each has a default",
    )


class AllianceFilter(serializers.Serializer[None]):
    """Which alliances to list."""

    state = ChoiceField(Alliance.State.choices, required=False)
    device = serializers.UUIDField(required=False, source="parties__device")
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="waiting or working")


class AllianceViewSet(ListedViewSet[Alliance]):
    """Alliances, youngest first."""

    queryset = Alliance.objects.all()
    serializer_class = AllianceSerializer
    active_states = Alliance.ACTIVE
    filters = AllianceFilter
    sorts = {name: name for name in ("created_at", "ended_at", "name")}
    searched = ("name", "reason_sentence")

    @extend_schema(request=BeginAllianceSerializer, responses={201: AllianceSerializer})
    def create(self, request: Request) -> Response:
        """Have two devices train one network together, once the owners of both agree."""
        wanted = BeginAllianceSerializer(data=request.data)
        check_body(wanted)
        alliance = services.begin_alliance(**wanted.validated_data, now=timezone.now())
        return Response(AllianceSerializer(alliance).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=AllianceSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, _request: Request, **_: str) -> Response:
        """Stop it."""
        alliance = self.get_object()
        services.cancel_alliance(alliance=alliance, now=timezone.now())
        return Response(AllianceSerializer(alliance).data)

    def get_queryset(self) -> QuerySet[Alliance]:
        """Each with both parties."""
        return super().get_queryset().prefetch_related("parties__device")
