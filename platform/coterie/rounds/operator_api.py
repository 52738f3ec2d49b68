"""Rounds in the operators' REST API, to look at: they are held by the platform alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.merging.models import Update
from coterie.rounds.errors import NothingToMerge
from coterie.rounds.list_figures import accuracy_of, rounds_before
from coterie.rounds.merging_again import merge_again, why_not_again
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.selectors import INVITED


class UpdateSerializer(serializers.ModelSerializer[Update]):
    """An update that counts."""

    class Meta:
        model = Update
        fields = [
            "sha256",
            "size_bytes",
            "samples",
            "steps_done",
            "steps_total",
            "loss_before",
            "loss_after",
            "accuracy_before",
            "train_s",
            "train_memory_bytes",
            "classes",
            "received_at",
            "staleness",
            "cloud_accuracy",
            "kept",
            "merge_weight",
            "merge_distance",
            "fault_code",
            "fault_sentence",
        ]
        read_only_fields = fields


class AssignmentSerializer(serializers.ModelSerializer[Assignment]):
    """One device's part in a round."""

    device_name = serializers.CharField(source="device.name", read_only=True)
    delivered = UpdateSerializer(source="update", read_only=True, allow_null=True, default=None)

    class Meta:
        model = Assignment
        fields = [
            "id",
            "device",
            "device_name",
            "base_version",
            "teacher",
            "state",
            "reason_code",
            "reason_sentence",
            "stage",
            "steps_done",
            "steps_total",
            "offered_at",
            "changed_at",
            "taken_by",
            "delivered",
        ]
        read_only_fields = fields


class ChangeSerializer(serializers.Serializer[None]):
    """What is other than in the round that was published before."""

    round = serializers.IntegerField(help_text="number of that round")
    duration_s = serializers.FloatField(allow_null=True)
    accuracy = serializers.FloatField(allow_null=True, help_text="null: one of them was not measured")


class RoundsSerializer(serializers.ListSerializer[Round]):
    """Rounds; those that were published before them are looked up for all of them at once."""

    child: "RoundSerializer"

    def to_representation(self, data: Iterable[Round]) -> list[Any]:  # type: ignore[override]
        """Any: rows as the framework gives them."""
        rows = list(data)
        self.child.before = rounds_before(rows)
        return super().to_representation(rows)


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round."""

    before: Mapping[int, Round] | None = None
    """By round, what was published before it; None: it is looked up for each by itself."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    federation_name = serializers.CharField(source="federation.name", read_only=True)
    result_version = serializers.UUIDField(source="merge.result_version_id", read_only=True, allow_null=True)
    metrics = serializers.JSONField(read_only=True)
    devices = serializers.IntegerField(read_only=True, help_text="devices that were invited")
    updates = serializers.IntegerField(source="updates_in", read_only=True, help_text="updates that came in")
    asynchronous = serializers.BooleanField(
        source="carries_on", read_only=True, help_text="assignments go on after its end, and updates into later rounds"
    )
    duration_s = serializers.FloatField(
        read_only=True,
        allow_null=True,
        help_text="from its opening to its end; null: it has not ended, or never opened",
    )
    change = serializers.SerializerMethodField(
        help_text="against the round that was published before; null: there is none, or this one is not published"
    )

    class Meta:
        model = Round
        list_serializer_class = RoundsSerializer
        fields = [
            "id",
            "federation",
            "federation_slug",
            "federation_name",
            "number",
            "state",
            "reason_code",
            "reason_sentence",
            "opens_at",
            "opened_at",
            "deadline_at",
            "closed_at",
            "finished_at",
            "base_version",
            "result_version",
            "devices",
            "updates",
            "asynchronous",
            "metrics",
            "duration_s",
            "change",
        ]
        read_only_fields = fields

    @extend_schema_field(ChangeSerializer(allow_null=True))
    def get_change(self, round_: Round) -> dict[str, float | None] | None:
        """Against the round that was published before."""
        before = (rounds_before([round_]) if self.before is None else self.before).get(round_.pk)
        if before is None or round_.state != Round.State.PUBLISHED:
            return None
        return {
            "round": before.number,
            "duration_s": _difference(round_.duration_s, before.duration_s),
            "accuracy": _difference(accuracy_of(round_.metrics), accuracy_of(before.metrics)),
        }


class AgeSerializer(serializers.Serializer[None]):
    """Updates of one staleness."""

    staleness = serializers.IntegerField(help_text="by how many versions their base was older than the merge's")
    updates = serializers.IntegerField()
    left_out = serializers.IntegerField(help_text="of these, those that the merge left out")


class RoundDetailSerializer(RoundSerializer):
    """A round with everybody's part in it."""

    assignments = AssignmentSerializer(source="all_parts", many=True, read_only=True)
    updates_by_age = AgeSerializer(many=True, read_only=True, help_text="of merged updates, the freshest first")
    why_not_again = serializers.SerializerMethodField(help_text="why it cannot be merged again; null: it can")

    class Meta(RoundSerializer.Meta):
        fields = [*RoundSerializer.Meta.fields, "plan", "assignments", "updates_by_age", "why_not_again"]
        read_only_fields = fields

    def get_why_not_again(self, round_: Round) -> str | None:
        """As the refusal says it."""
        problem = why_not_again(round_)
        return None if problem is None else str(NothingToMerge(round=round_.number, problem=problem))


class RoundEventSerializer(serializers.ModelSerializer[RoundEvent]):
    """What happened in a round."""

    device_name = serializers.CharField(source="device.name", read_only=True, allow_null=True, default=None)

    class Meta:
        model = RoundEvent
        fields = ["id", "at", "kind", "device", "device_name", "reason_code", "reason_sentence"]
        read_only_fields = fields


class RoundFilter(serializers.Serializer[None]):
    """Which rounds to list."""

    federation = serializers.UUIDField(required=False)
    number = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    state = ChoiceField(Round.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="planned or under way")


class RoundViewSet(ListedViewSet[Round]):
    """Rounds."""

    queryset = Round.objects.select_related("federation", "merge").annotate(devices=INVITED)
    serializer_class = RoundSerializer
    detail_serializer_class = RoundDetailSerializer
    active_states = Round.ACTIVE
    filters = RoundFilter
    sorts = {
        **{name: name for name in ("number", "opens_at", "opened_at", "finished_at", "devices")},
        "updates": "updates_in",
    }
    searched = ("federation__name", "federation__slug", "reason_sentence")

    @extend_schema(responses=RoundDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """A round with everybody's part in it."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(responses=RoundEventSerializer(many=True), operation_id="rounds_timeline")
    @action(detail=True)
    def timeline(self, _request: Request, pk: int) -> Response:
        """What happened, in order, a page at a time: who was asked, accepted, trained, uploaded, was late, and why."""
        return self.page_of(get_object_or_404(Round, pk=pk).events.select_related("device"), RoundEventSerializer)

    @extend_schema(request=None, responses=RoundSerializer)
    @action(detail=True, methods=["post"], url_path="merge-again")
    def merge_again(self, _request: Request, pk: int) -> Response:
        """Merge the updates of an abandoned round once more, as long as they are kept and fit the version in use."""
        merge_again(round_=get_object_or_404(Round, pk=pk), now=timezone.now())
        return Response(RoundSerializer(self.get_object()).data)

    def get_queryset(self) -> QuerySet[Round]:
        """A single round comes with everybody's part."""
        parts = (
            ()
            if self.action == "list"
            else (
                "assignments__device",
                "assignments__update",
                "entries__device",
                "entries__update",
            )
        )
        return super().get_queryset().prefetch_related(*parts)


class PartSerializer(AssignmentSerializer):
    """One device's part in one round: what it got, what it sent, and how its model did."""

    federation = serializers.UUIDField(source="round.federation_id", read_only=True)
    federation_slug = serializers.CharField(source="round.federation.slug", read_only=True)
    federation_name = serializers.CharField(source="round.federation.name", read_only=True)
    round_number = serializers.IntegerField(source="round.number", read_only=True)
    base_version = serializers.UUIDField(source="base_version_id", read_only=True)

    class Meta(AssignmentSerializer.Meta):
        fields = [
            *AssignmentSerializer.Meta.fields,
            "round",
            "round_number",
            "federation",
            "federation_slug",
            "federation_name",
            "base_version",
        ]
        read_only_fields = fields


class AssignmentFilter(serializers.Serializer[None]):
    """Whose part, and in what."""

    device = serializers.UUIDField(required=False)
    round = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False)
    federation = serializers.UUIDField(required=False)
    state = ChoiceField(Assignment.State.choices, required=False)


class AssignmentViewSet(ListedViewSet[Assignment]):
    """Parts of devices in rounds: of one device, its history of versions, accuracy, training time and what it sent."""

    queryset = (
        Assignment.objects.select_related("round__federation", "device", "update")
        .defer("round__plan", "round__federation__plan")  # two thirds of what a row takes
        .order_by("-offered_at", "-pk")
    )
    serializer_class = PartSerializer
    filters = AssignmentFilter
    sorts = {name: name for name in ("offered_at", "changed_at")}
    searched = ("device__name", "reason_sentence")

    def narrowed(self, rows: QuerySet[Assignment], query: QueryParameters) -> QuerySet[Assignment]:
        """By device, round, federation and state."""
        columns = {"federation": "round__federation"}
        return rows.filter(**{columns.get(name, name): value for name, value in query.items()})


def _difference(value: float | None, before: float | None) -> float | None:
    return None if value is None or before is None else value - before
