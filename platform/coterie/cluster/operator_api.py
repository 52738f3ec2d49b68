"""The cluster in the operators' REST API: one answer, for hosts and gangs at work are few."""

from collections.abc import Mapping
from typing import get_args

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.cluster import selectors
from coterie.cluster.models import Gang, GangShare, Host
from coterie.cluster.schedule import Device
from coterie.core.acting import OperatorRole, current_actor
from coterie.core.choice_field import ChoiceField


class ClusterHostSerializer(serializers.Serializer[Host]):
    """A machine that trains."""

    name = serializers.CharField()
    rack = serializers.CharField(help_text="hosts of one rack are near each other; blank: the only rack")
    queue = serializers.CharField(help_text="the Celery queue that only its workers take tasks from")
    present = serializers.BooleanField(help_text="false: it fell silent, and nothing is placed there")
    launcher = serializers.CharField(help_text="who starts workers: here, it does itself; or kubernetes, slurm")
    places = serializers.IntegerField(help_text="workers that it takes at a time")
    used = serializers.IntegerField(help_text="workers that it has; more than its places where one gang has it alone")
    cores = serializers.IntegerField()
    gpus = serializers.IntegerField(help_text="those that its children can compute on")
    memory_bytes = serializers.IntegerField()
    since = serializers.DateTimeField(help_text="when it came, or came back")
    seen_at = serializers.DateTimeField()


class GangShareSerializer(serializers.Serializer[GangShare]):
    """The workers of a gang that one host runs."""

    host = serializers.CharField()
    ranks = serializers.IntegerField(help_text="how many workers")
    gpus = serializers.ListField(
        child=serializers.IntegerField(), help_text="numbers of the host's GPUs, one for each worker; none: cores"
    )


class GangSerializer(serializers.Serializer[Gang]):
    """The workers of a job that waits or runs."""

    job = serializers.UUIDField()
    name = serializers.CharField(help_text="what people call the job")
    team = serializers.CharField(help_text="whose quota it uses; blank: of no team")
    priority = serializers.IntegerField(help_text="0 to 9; -1: a simulation, which makes room for all others")
    ranks = serializers.IntegerField(help_text="how many workers; all have places, or none")
    spreads = serializers.BooleanField(help_text="whether they may be on several hosts")
    launcher = serializers.CharField(help_text="who is to start them: here, kubernetes, slurm; blank: whoever has room")
    device = ChoiceField(
        get_args(Device), help_text="what they compute on; auto: one that is alone takes a GPU where one is free"
    )
    state = ChoiceField(Gang.State.choices)
    reason_code = serializers.CharField(help_text="why it waits or leaves; blank: it does neither")
    reason_sentence = serializers.CharField()
    since = serializers.DateTimeField(help_text="when it came to wait, of late")
    placed_at = serializers.DateTimeField(allow_null=True)
    shares = GangShareSerializer(many=True, help_text="the first of them leads")
    place_hours = serializers.FloatField(help_text="of its workers so far")
    gpu_hours = serializers.FloatField()


class TeamUseSerializer(serializers.Serializer[selectors.GangUse]):
    """What the jobs of a team have had in the last 90 days."""

    team = serializers.CharField()
    quota = serializers.IntegerField(allow_null=True, help_text="places; null: it has none")
    places = serializers.IntegerField(help_text="that it has now")
    place_hours = serializers.FloatField(help_text="a place is a core, unless a host says otherwise")
    gpu_hours = serializers.FloatField()


class ClusterSerializer(serializers.Serializer[Mapping[str, object]]):
    """Where training runs, and what waits."""

    hosts = ClusterHostSerializer(many=True)
    gangs = GangSerializer(many=True, help_text="in the order of their turn")
    use = TeamUseSerializer(many=True, help_text="by team, most first")


class ClusterView(APIView):
    """Hosts, queue and use."""

    @extend_schema(responses=ClusterSerializer, operation_id="cluster")
    def get(self, _request: Request) -> Response:
        """Which hosts there are, which jobs run on them, why the others wait, and what teams have used.

        Jobs are of all projects, so only for who has a role in the installation.
        """
        current_actor().require_in_installation(OperatorRole.VIEWER)
        now = timezone.now()
        gangs = list(selectors.active_gangs())
        shown = {
            "hosts": [
                {
                    **{name: getattr(host, name) for name in OF_HOST},
                    "present": host.is_present(now),
                    "used": sum(share.ranks for share in host.shares.all() if not share.gang.small),
                }
                for host in selectors.hosts()
            ],
            "gangs": [_shown(gang, *selectors.seconds_of(gang, now)) for gang in gangs],
            "use": _use(gangs, selectors.use_of_teams(now)),
        }
        return Response(ClusterSerializer(shown).data)


OF_HOST = ("name", "rack", "queue", "launcher", "places", "cores", "gpus", "memory_bytes", "since", "seen_at")
OF_GANG = (
    "job",
    "team",
    "priority",
    "ranks",
    "spreads",
    "launcher",
    "device",
    "state",
    "reason_code",
    "reason_sentence",
    "since",
)


def _shown(gang: Gang, place_s: float, gpu_s: float) -> dict[str, object]:
    return {
        **{name: getattr(gang, name) for name in OF_GANG},
        "name": gang.label,
        "placed_at": gang.placed_at,
        "shares": [{"host": share.host_id, "ranks": share.ranks, "gpus": share.gpus} for share in gang.shares.all()],
        "place_hours": place_s / 3600,
        "gpu_hours": gpu_s / 3600,
    }


def _use(gangs: list[Gang], used: list[selectors.GangUse]) -> list[dict[str, object]]:
    """Teams with a quota are shown before they have used anything."""
    quotas: dict[str, int] = settings.CLUSTER_QUOTAS
    idle = [selectors.GangUse(team, 0.0, 0.0) for team in sorted(quotas.keys() - {one.team for one in used})]
    return [
        {
            "team": one.team,
            "quota": quotas.get(one.team),
            "places": sum(gang.ranks for gang in gangs if gang.team == one.team and gang.state != Gang.State.WAITING),
            "place_hours": one.place_hours,
            "gpu_hours": one.gpu_hours,
        }
        for one in [*used, *idle]
    ]
