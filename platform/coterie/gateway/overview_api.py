"""What is happening now, in one answer: the first page of the console."""

from datetime import datetime, timedelta
from importlib.metadata import version

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import TruncDay
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.operator_api import TrainingJobSerializer
from coterie.core.choice_field import ChoiceField
from coterie.fleet.models import Device
from coterie.fleet.operator_api import STATUSES
from coterie.fleet.status import DeviceStatus, totals_by_status
from coterie.repairs.services import shown
from coterie.rounds.models import Round
from coterie.rounds.operator_api import RoundSerializer
from coterie.rounds.reasons import blocker_in_words
from coterie.rounds.selectors import INVITED
from coterie.rounds.traffic import Day, traffic_by_day

HISTORY_ROUNDS = 200
DAYS = 30
ENDED = (DeviceStatus.REVOKED, DeviceStatus.LEFT)


class StatusCountSerializer(serializers.Serializer[None]):
    """How many devices stand so."""

    status = ChoiceField(STATUSES)
    reason = serializers.CharField(help_text="code of what those that wait wait for first; else blank")
    words = serializers.CharField(help_text='as in "61 on battery"')
    devices = serializers.IntegerField()


class RoundPointSerializer(serializers.Serializer[None]):
    """A published round, as a point of the charts."""

    round = serializers.IntegerField()
    federation = serializers.UUIDField()
    federation_slug = serializers.CharField()
    federation_name = serializers.CharField()
    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    accuracy = serializers.FloatField(allow_null=True, help_text="on the held-out data; null: there are none")
    mean_accuracy = serializers.FloatField(allow_null=True, help_text="as devices measured it on their own samples")
    updates = serializers.IntegerField()
    update_bytes = serializers.IntegerField()


class TrafficDaySerializer(serializers.Serializer[Day]):
    """What left the devices in a day."""

    day = serializers.DateField()
    update_bytes = serializers.IntegerField()
    updates = serializers.IntegerField()
    portion_bytes = serializers.IntegerField(help_text="portions of models, for devices that asked for help")
    profile_bytes = serializers.IntegerField(help_text="what devices told of their data: counts by class")


class PublishedDaySerializer(serializers.Serializer[None]):
    """How many rounds published a version in a day."""

    day = serializers.DateField(help_text="in UTC, as that of traffic")
    rounds = serializers.IntegerField()


class OverviewSerializer(serializers.Serializer[None]):
    """The platform at one moment."""

    at = serializers.DateTimeField()
    devices = serializers.IntegerField(help_text="that belong to the fleet")
    by_status = StatusCountSerializer(many=True)
    sentence = serializers.CharField(help_text="the totals as people say them")
    active_rounds = RoundSerializer(many=True)
    active_jobs = TrainingJobSerializer(many=True)
    rounds = RoundPointSerializer(many=True, help_text="the latest that were published, oldest first")
    published = PublishedDaySerializer(many=True, help_text="of the last days on which any did, oldest first")
    traffic = TrafficDaySerializer(many=True, help_text="of the last days on which anything left, oldest first")
    repairs = serializers.IntegerField(help_text="faults that are not muted")


class OverviewView(APIView):
    """The overview."""

    @extend_schema(responses=OverviewSerializer, operation_id="overview")
    def get(self, _request: Request) -> Response:
        """What is happening now, and what has lately."""
        return Response(_overview(timezone.now()))


class PlatformSerializer(serializers.Serializer[None]):
    """What this platform is; who runs it sets it in the environment."""

    version = serializers.CharField()
    mode = ChoiceField(["embedded", "scaled"])
    allowed_hosts = serializers.ListField(child=serializers.CharField())
    page_size = serializers.IntegerField()
    max_body_bytes = serializers.IntegerField(help_text="of a JSON body")


class PlatformView(APIView):
    """The platform's settings, to look at."""

    @extend_schema(responses=PlatformSerializer, operation_id="platform")
    def get(self, _request: Request) -> Response:
        """What it is and how it is set."""
        return Response(
            {
                "version": version("coterie"),
                "mode": "embedded" if settings.EMBEDDED else "scaled",
                "allowed_hosts": settings.ALLOWED_HOSTS,
                "page_size": settings.REST_FRAMEWORK["PAGE_SIZE"],
                "max_body_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
            }
        )


def _overview(now: datetime) -> dict[str, object]:
    totals = totals_by_status(Device.objects.all(), now=now)
    lines = [
        {"status": status.value, "reason": code, "words": blocker_in_words(code or status.value), "devices": count}
        for (status, code), count in sorted(totals.items(), key=lambda item: -item[1])
    ]
    present = [line for line in lines if line["status"] not in ENDED]
    rounds = Round.objects.select_related("federation", "merge").annotate(devices=INVITED)
    jobs = TrainingJob.objects.select_related("pair").filter(state__in=TrainingJob.ACTIVE)
    return {
        "at": now,
        "devices": sum(count for (status, _), count in totals.items() if status not in ENDED),
        "by_status": lines,
        "sentence": ", ".join(f"{line['devices']:,} {line['words']}" for line in present) or "no devices yet",
        "active_rounds": RoundSerializer(rounds.filter(state__in=Round.ACTIVE).order_by("opens_at"), many=True).data,
        "active_jobs": TrainingJobSerializer(jobs, many=True).data,
        "rounds": _round_points(),
        "published": _published_by_day(since=now - timedelta(days=DAYS)),
        "traffic": [TrafficDaySerializer(day).data for day in traffic_by_day(now=now, days=DAYS)],
        "repairs": len(shown(now=now)),
    }


def _round_points() -> list[dict[str, object]]:
    published = Round.objects.filter(state=Round.State.PUBLISHED).select_related("federation", "merge")
    latest = list(published.order_by("-finished_at")[:HISTORY_ROUNDS])
    return [
        {
            "round": round_.pk,
            "federation": round_.federation_id,
            "federation_slug": round_.federation.slug,
            "federation_name": round_.federation.name,
            "number": round_.number,
            "at": round_.finished_at,
            "accuracy": round_.metrics.get("accuracy"),
            "mean_accuracy": round_.metrics.get("mean_accuracy"),
            "updates": round_.metrics.get("updates", 0),
            "update_bytes": round_.metrics.get("update_bytes", 0),
        }
        for round_ in reversed(latest)
    ]


def _published_by_day(*, since: datetime) -> list[dict[str, object]]:
    published = Round.objects.filter(state=Round.State.PUBLISHED, finished_at__gte=since).order_by()
    by_day = published.annotate(day=TruncDay("finished_at")).values("day").annotate(rounds=Count("pk")).order_by("day")
    return [{"day": row["day"].date(), "rounds": row["rounds"]} for row in by_day]
