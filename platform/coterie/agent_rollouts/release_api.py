"""The agents that a fleet has, and the releases that it can be given, in the operators' REST API."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.agent_rollouts.operator_api import LeftOutSerializer, left_out_of
from coterie.core.choice_field import ChoiceField
from coterie.fleet.agents import agents_of, count_by_release
from coterie.releases.served import published_metadata
from coterie_wire.updating import parts_of


class AgentVersionSerializer(serializers.Serializer[Sequence[Mapping[str, object]]]):
    """The enrolled devices whose agents are of one release."""

    version = serializers.CharField()
    devices = serializers.IntegerField()
    taking = serializers.IntegerField(help_text="of these: take another release when they are asked to")
    refusing = LeftOutSerializer(many=True, help_text="why the others take none, most first")


class AgentVersionsFilter(serializers.Serializer[None]):
    """Whose agents to count."""

    tag = serializers.CharField(required=False, default="", allow_blank=True, max_length=50)


class AgentVersionsView(APIView):
    """Agents by release."""

    @extend_schema(
        parameters=[AgentVersionsFilter], responses=AgentVersionSerializer(many=True), operation_id="agent_versions"
    )
    def get(self, request: Request) -> Response:
        """How many enrolled devices run each release of the agent, the newest first, and how many take others."""
        asked = AgentVersionsFilter(data=request.query_params)
        asked.is_valid(raise_exception=True)
        taking: Counter[str] = Counter()
        refusing: dict[str, dict[str, int]] = {}
        for version, refuses, devices in count_by_release(agents_of(asked.validated_data["tag"])):
            codes = refusing.setdefault(version, {})
            if refuses:
                codes[refuses] = devices
            else:
                taking[version] = devices
        shown = [
            {
                "version": version,
                "devices": taking[version] + sum(codes.values()),
                "taking": taking[version],
                "refusing": left_out_of(codes),
            }
            for version, codes in sorted(refusing.items(), key=lambda item: _age(item[0]), reverse=True)
        ]
        return Response(AgentVersionSerializer(shown, many=True).data)


def _age(version: str) -> tuple[int, ...]:
    """To sort by; what is no release's number comes before all that are."""
    try:
        return parts_of(version)
    except ValueError:
        return ()


class AgentReleaseSerializer(serializers.Serializer[None]):
    """A release of the agent that devices can be given."""

    version = serializers.CharField()
    size_bytes = serializers.IntegerField(help_text="of the agent and all that may have to come with it")


class ReleaseExpirySerializer(serializers.Serializer[None]):
    """Until when what one role has signed holds."""

    role = ChoiceField(["root", "targets", "snapshot", "timestamp"])
    expires_at = serializers.DateTimeField()
    expired = serializers.BooleanField(help_text="devices take nothing from the repository")


class AgentReleasesSerializer(serializers.Serializer[Mapping[str, object]]):
    """The repository of releases."""

    served = serializers.BooleanField(help_text="false: none has been published")
    releases = AgentReleaseSerializer(many=True, help_text="the newest first")
    expiries = ReleaseExpirySerializer(many=True)


class AgentReleasesView(APIView):
    """What there is to be rolled out."""

    @extend_schema(responses=AgentReleasesSerializer, operation_id="agent_releases")
    def get(self, _request: Request) -> Response:
        """The releases that the platform has for agents, and until when what is signed of them holds."""
        return Response(AgentReleasesSerializer(_releases(timezone.now())).data)


def _releases(now: datetime) -> Mapping[str, object]:
    with published_metadata() as repository:
        if repository is None:
            return {"served": False, "releases": [], "expiries": []}
        expiries, releases = repository.expiries().items(), repository.releases()[::-1]
    return {
        "served": True,
        "releases": [{"version": release.version, "size_bytes": release.size_bytes} for release in releases],
        "expiries": [{"role": role, "expires_at": at, "expired": at <= now} for role, at in expiries],
    }
