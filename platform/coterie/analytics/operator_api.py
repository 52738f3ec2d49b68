"""Questions in the operators' REST API."""

from typing import cast

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.analytics import services
from coterie.analytics.models import Question
from coterie.analytics.selectors import asked_by_answer, quantiles
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.federations.models import Federation
from coterie_wire.secure_sum import MOST_MEMBERS


class DeclinedSerializer(serializers.Serializer[None]):
    """Why devices would not answer."""

    code = serializers.CharField()
    devices = serializers.IntegerField()


class QuestionSerializer(serializers.ModelSerializer[Question]):
    """What a fleet was asked, and what it answers."""

    federation_slug = serializers.CharField(source="federation.slug", read_only=True)
    federation_name = serializers.CharField(source="federation.name", read_only=True)
    content = serializers.DictField(read_only=True, help_text="what is counted, and what the sum promises")
    counts = serializers.ListField(
        child=serializers.FloatField(), read_only=True, help_text="one for each cell; with noise they may be below zero"
    )

    class Meta:
        model = Question
        fields = [
            "id",
            "federation",
            "federation_slug",
            "federation_name",
            "title",
            "content",
            "epsilon",
            "delta",
            "devices_wanted",
            "state",
            "reason_code",
            "reason_sentence",
            "asked_at",
            "closes_at",
            "ended_at",
            "counts",
            "deviation",
            "devices",
        ]
        read_only_fields = fields


class QuestionDetailSerializer(QuestionSerializer):
    """A question with the names of its cells, and who was asked."""

    cells = serializers.SerializerMethodField(help_text="what each count is of")
    quantiles = serializers.SerializerMethodField(
        help_text="of a histogram, by share of those that know; null where that is beyond its edges"
    )
    asked = serializers.SerializerMethodField(help_text="devices that were asked so far")
    declined = serializers.SerializerMethodField()

    class Meta(QuestionSerializer.Meta):
        fields = [*QuestionSerializer.Meta.fields, "cells", "quantiles", "asked", "declined"]
        read_only_fields = fields

    def get_cells(self, question: Question) -> list[str]:
        return list(question.parsed().count.labels)

    def get_quantiles(self, question: Question) -> dict[str, float | None]:
        return dict(quantiles(question))

    def get_asked(self, question: Question) -> int:
        return asked_by_answer(question).total()

    @extend_schema_field(DeclinedSerializer(many=True))
    def get_declined(self, question: Question) -> list[dict[str, object]]:
        codes = sorted(asked_by_answer(question).items())
        return [{"code": code, "devices": devices} for code, devices in codes if code]


class AskSerializer(serializers.Serializer[None]):
    """What to ask, of whom, and what the answer may tell of a device."""

    federation = serializers.PrimaryKeyRelatedField(
        queryset=Federation.objects.all(), help_text="whose devices are asked, and whose budget pays"
    )
    title = serializers.CharField(max_length=200, default="", allow_blank=True)
    content = serializers.DictField(
        help_text="count: kind classes (classes, most), histogram (of, edges) or words (of, words); among; "
        "min_devices, corrupted, dropped, adversary, step_s"
    )
    epsilon = serializers.FloatField(
        min_value=1e-3, max_value=100, allow_null=True, help_text="null: exact, where owners agree to that"
    )
    devices = serializers.IntegerField(min_value=3, max_value=MOST_MEMBERS, help_text="that are summed at most")
    within_s = serializers.FloatField(
        min_value=1, max_value=7 * 86_400, default=300, help_text="seconds within which devices join"
    )


class QuestionFilter(serializers.Serializer[None]):
    """Which questions to list."""

    federation = serializers.UUIDField(required=False)
    state = ChoiceField(Question.State.choices, required=False)


class QuestionViewSet(ListedViewSet[Question]):
    """Questions to fleets, youngest first."""

    queryset = Question.objects.select_related("federation")
    serializer_class = QuestionSerializer
    detail_serializer_class = QuestionDetailSerializer
    filters = QuestionFilter
    sorts = {name: name for name in ("asked_at", "ended_at", "epsilon")}
    searched = ("title", "federation__slug")

    @extend_schema(responses=QuestionDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """A question with the names of its cells, its answer, and how many were asked."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=AskSerializer, responses={201: QuestionDetailSerializer})
    def create(self, request: Request) -> Response:
        """Ask the devices of a federation; the answer is a sum that nobody can read one device in."""
        wanted = AskSerializer(data=request.data)
        check_body(wanted)
        given = wanted.validated_data
        question = services.ask_question(
            federation=cast(Federation, given["federation"]),
            title=given["title"],
            content=given["content"],
            epsilon=given["epsilon"],
            devices=given["devices"],
            within_s=given["within_s"],
            now=timezone.now(),
        )
        return Response(QuestionDetailSerializer(question).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=QuestionDetailSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, _request: Request, **_: str) -> Response:
        """End it without an answer; what it has cost by then stays spent."""
        question = self.get_object()
        services.cancel_question(question=question, now=timezone.now())
        return Response(QuestionDetailSerializer(question).data)
