"""How quick the devices of a pair are, in classes, now and over time."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.choice_field import ChoiceField
from coterie.core.csv_table import CsvRenderer, csv_response
from coterie.core.listing import Renderers, Row, refuse_unknown
from coterie.registry.models import ModelPair
from coterie.speeds.bands import WORKS
from coterie.speeds.classes import ClassSpeed, SpeedClass
from coterie.speeds.models import SpeedDay
from coterie.speeds.selectors import DaySpeed, classes_of, history_of

MACHINES = 3
"""Kinds of machines that are named of a class."""
WORK_HELP = "a train step on a batch, or a run of the model"
FORM_HELP = "which form of the version; float32 is the version itself"
CHARGING = ("yes", "no", "unknown")
T = TypeVar("T", ClassSpeed, DaySpeed)


class TimesSerializer(serializers.Serializer[T]):
    """How long one kind of work takes on some devices."""

    work = ChoiceField(WORKS, help_text=WORK_HELP)
    form = serializers.CharField(help_text=FORM_HELP)
    charging = ChoiceField(CHARGING, help_text="while it was measured")
    devices = serializers.IntegerField(help_text="devices that have measured it")
    p50_s = serializers.FloatField(source="quantiles.p50_s")
    p90_s = serializers.FloatField(source="quantiles.p90_s")
    p99_s = serializers.FloatField(source="quantiles.p99_s")


class ClassSpeedSerializer(TimesSerializer[ClassSpeed]):
    """How long one kind of work takes in a class."""


class SpeedClassSerializer(serializers.Serializer[SpeedClass]):
    """Devices that are about as quick as one another."""

    compared_by = ChoiceField(
        WORKS, source="by", help_text="the work, with float32, by whose median devices are divided"
    )
    from_s = serializers.FloatField(
        source="span.from_s", help_text="the shortest median of a device in it, within 19 %"
    )
    to_s = serializers.FloatField(source="span.to_s", help_text="the longest, within 19 %")
    devices = serializers.IntegerField()
    machines = serializers.SerializerMethodField(help_text="the most frequent first")
    speeds = ClassSpeedSerializer(many=True)

    def get_machines(self, found: SpeedClass) -> list[str]:
        """A few."""
        return list(found.machines[:MACHINES])


class DaySpeedSerializer(TimesSerializer[DaySpeed]):
    """How long one kind of work took in a class on a day: the sum of what each device told last on it."""

    day = serializers.DateField(help_text="in UTC")
    number = serializers.SerializerMethodField(help_text="which class; 1 is the quickest")
    classes = serializers.SerializerMethodField(
        help_text="how many there are, as devices divided on the last day asked for"
    )
    compared_by = ChoiceField(
        WORKS, source="by", help_text="the work, with float32, by whose median devices are divided"
    )
    class_from_s = serializers.SerializerMethodField(help_text="the shortest median of a device in it on the last day")
    class_to_s = serializers.SerializerMethodField(help_text="the longest")
    hottest_c = serializers.FloatField(allow_null=True, help_text="the highest temperature at which it was measured")

    def get_number(self, found: DaySpeed) -> int:
        """From 1."""
        return found.place + 1

    def get_classes(self, found: DaySpeed) -> int:
        """All of them."""
        return len(found.spans)

    def get_class_from_s(self, found: DaySpeed) -> float:
        """Where its bands begin."""
        return found.spans[found.place].from_s

    def get_class_to_s(self, found: DaySpeed) -> float:
        """Where they end."""
        return found.spans[found.place].to_s


class SpeedHistoryQuerySerializer(serializers.Serializer[None]):
    """Which of them; what is left out is not chosen by."""

    work = ChoiceField(WORKS, required=False, help_text=WORK_HELP)
    form = serializers.CharField(required=False, max_length=40, help_text=FORM_HELP)
    charging = ChoiceField(CHARGING, required=False)
    number = serializers.IntegerField(required=False, min_value=1, help_text="which class; 1 is the quickest")
    days = serializers.IntegerField(min_value=1, max_value=3660, default=90, help_text="back from today")


class SpeedClassesView(APIView):
    """How quick the devices of a pair are, in classes."""

    @extend_schema(responses=SpeedClassSerializer(many=True), operation_id="pairs_speed_classes")
    def get(self, _request: Request, pk: UUID) -> Response:
        """Classes as the devices' own figures divide them, the quickest first, with times by form and condition."""
        found = classes_of(get_object_or_404(ModelPair, pk=pk))
        return Response([SpeedClassSerializer(one).data for one in found])


class SpeedHistoryView(GenericAPIView[SpeedDay]):
    """How quick the devices of a pair were."""

    queryset = SpeedDay.objects.all()

    def get_renderers(self) -> Renderers:
        """All of it can be had as CSV, too."""
        return [*super().get_renderers(), CsvRenderer()]

    @extend_schema(
        parameters=[SpeedHistoryQuerySerializer],
        responses=DaySpeedSerializer(many=True),
        operation_id="pairs_speed_history",
    )
    def get(self, request: Request, pk: UUID) -> Response | StreamingHttpResponse:
        """By day, class, work, form and condition, the newest day first; each day is summed up hourly until it is over.

        Classes are where devices divide on the last of these days. What was told before counts to the class whose
        medians are nearest.
        """
        query = SpeedHistoryQuerySerializer(data=request.query_params)
        refuse_unknown(self, request.query_params, known=tuple(query.fields))
        query.is_valid(raise_exception=True)
        pair = get_object_or_404(ModelPair, pk=pk)
        asked = dict(query.validated_data)
        number = asked.pop("number", None)
        since = (timezone.now() - timedelta(days=asked.pop("days"))).date()
        found = history_of(self.get_queryset().filter(pair=pair, day__gt=since), asked)
        chosen = [one for one in found if number is None or one.place == number - 1]
        if isinstance(request.accepted_renderer, CsvRenderer):
            return csv_response("speed-history", tuple(DaySpeedSerializer().fields), _at_once(_rows(chosen)))
        assert self.paginator is not None
        page = self.paginator.paginate_queryset(chosen, request, view=self) or []
        return self.paginator.get_paginated_response(_rows(page))


def _rows(found: list[DaySpeed]) -> list[Row]:
    return [DaySpeedSerializer(one).data for one in found]


async def _at_once(rows: Sequence[Row]) -> AsyncIterator[Sequence[Row]]:
    yield rows
