"""What lists show beside a row's own columns; each list takes the same query as the one that it belongs to."""

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework import serializers

from coterie.federations.models import Federation
from coterie.federations.operator_api import FederationRows
from coterie.fleet.models import Device
from coterie.fleet.operator_api import DeviceRows
from coterie.registry.models import ModelPair, ModelVersion
from coterie.registry.operator_api import PairRows, VersionRows
from coterie.rounds.list_figures import (
    DeviceFigures,
    FederationFigures,
    PairFigures,
    VersionFigures,
    device_figures,
    federation_figures,
    pair_figures,
    version_figures,
)
from coterie.rounds.models import Assignment, Round

ACCURACY = "on held-out samples; where there are none, the mean of what devices measured; null: it was not measured"


class PageOfFigures(serializers.ListSerializer[Any]):
    """Figures of the rows of one page. Any: rows of whatever model the list has."""

    child: "Figures"

    def to_representation(self, data: Iterable[Any]) -> list[Any]:  # type: ignore[override]
        """Looks them up for all rows at once."""
        return super().to_representation(self.child.look_up(list(data)))


class Figures(serializers.Serializer[Any]):
    """Figures of one row. Any: of whatever list."""

    class Meta:
        list_serializer_class = PageOfFigures

    def look_up(self, rows: Sequence[Any]) -> Sequence[object]:
        """Those of `rows`, in their order."""
        raise NotImplementedError


class InUseSerializer(serializers.Serializer[None]):
    """A version that is in use."""

    version = serializers.UUIDField()
    number = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True, help_text=ACCURACY)


class BriefRoundSerializer(serializers.ModelSerializer[Round]):
    """A round in one line."""

    class Meta:
        model = Round
        fields = ["id", "number", "state", "reason_sentence", "opens_at", "opened_at", "finished_at"]
        read_only_fields = fields


class FederationFiguresSerializer(Figures):
    """How a federation does."""

    federation = serializers.UUIDField()
    champion = InUseSerializer(allow_null=True, help_text="null: no version is in use")
    accuracies = serializers.ListField(
        child=serializers.FloatField(), help_text="of its latest published rounds, oldest first"
    )
    last_round = BriefRoundSerializer(allow_null=True, help_text="the latest that has ended")
    next_round = BriefRoundSerializer(allow_null=True, help_text="the one that is planned or under way")
    on_champion = serializers.IntegerField(
        help_text="members that hold the version in use, of their group where it is divided"
    )
    on_others = serializers.IntegerField(help_text="members that hold another version")
    on_none = serializers.IntegerField(help_text="members that hold no version yet")

    def look_up(self, rows: Sequence[Federation]) -> Sequence[FederationFigures]:
        """In constant queries."""
        return federation_figures(rows)


class PairFiguresSerializer(Figures):
    """How the device model of a pair does."""

    pair = serializers.UUIDField()
    champion = InUseSerializer(allow_null=True, help_text="null: no version is in use")
    accuracies = serializers.ListField(
        child=serializers.FloatField(), help_text="of the pair's own latest versions, oldest first"
    )
    versions = serializers.IntegerField(help_text="of both models, in all lineages")
    devices = serializers.IntegerField(help_text="enrolled devices that hold any of them")

    def look_up(self, rows: Sequence[ModelPair]) -> Sequence[PairFigures]:
        """In constant queries."""
        return pair_figures(rows)


class VersionFiguresSerializer(Figures):
    """How a version does."""

    version = serializers.UUIDField()
    accuracy = serializers.FloatField(allow_null=True, help_text=ACCURACY)
    accuracy_change = serializers.FloatField(
        allow_null=True, help_text="against the version that it was made from; null: one of them was not measured"
    )
    devices = serializers.IntegerField(help_text="enrolled devices that hold it")

    def look_up(self, rows: Sequence[ModelVersion]) -> Sequence[VersionFigures]:
        """In constant queries."""
        return version_figures(rows)


class HeldVersionSerializer(serializers.Serializer[None]):
    """A version that a device holds."""

    id = serializers.UUIDField()
    pair = serializers.UUIDField(source="pair_id")
    pair_name = serializers.CharField(source="pair.name")
    lineage = serializers.CharField()
    number = serializers.IntegerField()


class LastPartSerializer(serializers.ModelSerializer[Assignment]):
    """A device's part in a round, in one line."""

    federation = serializers.UUIDField(source="round.federation_id", read_only=True)
    federation_name = serializers.CharField(source="round.federation.name", read_only=True)
    round_number = serializers.IntegerField(source="round.number", read_only=True)

    class Meta:
        model = Assignment
        fields = ["round", "round_number", "federation", "federation_name", "state", "reason_sentence", "changed_at"]
        read_only_fields = fields


class DeviceFiguresSerializer(Figures):
    """How a device does."""

    device = serializers.UUIDField()
    version = HeldVersionSerializer(
        allow_null=True, help_text="what it holds; null: none, or one that the platform does not know"
    )
    versions_behind = serializers.IntegerField(
        allow_null=True,
        help_text="the number of the version in use less that of its own; negative: its own is newer",
    )
    last_part = LastPartSerializer(allow_null=True, help_text="in the round that it was asked in last")
    accuracy = serializers.FloatField(
        allow_null=True, help_text="of the version that it last began with, on its own samples"
    )
    updates = serializers.IntegerField(help_text="updates of it that count")

    def look_up(self, rows: Sequence[Device]) -> Sequence[DeviceFigures]:
        """In constant queries."""
        return device_figures(rows)


class FederationFiguresViewSet(FederationRows):
    """Federations: the version in use, how exact the latest were, the last round and the next, devices by version."""

    serializer_class = FederationFiguresSerializer


class PairFiguresViewSet(PairRows):
    """Model pairs: the version in use, how exact the latest were, how many devices hold one."""

    serializer_class = PairFiguresSerializer


class VersionFiguresViewSet(VersionRows):
    """Versions: how exact they are, how much better than what they came of, how many devices hold them."""

    serializer_class = VersionFiguresSerializer


class DeviceFiguresViewSet(DeviceRows):
    """Devices: what they hold, their last round, how exact the model is on their own samples."""

    serializer_class = DeviceFiguresSerializer
