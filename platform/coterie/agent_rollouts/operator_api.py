"""Roll-outs of the agent in the operators' REST API."""

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.agent_rollouts import services
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.listing import ListedViewSet
from coterie.fleet.models import Device

LONGEST_HOLD_S = 30 * 24 * 3600
LONGEST_PROBATION_S = 24 * 3600
PHASES = [0.05, 0.25, 1.0]


class DeviceUpdateSerializer(serializers.ModelSerializer[DeviceUpdate]):
    """One device's part in a roll-out of the agent."""

    device_name = serializers.CharField(source="device.name", read_only=True)

    class Meta:
        model = DeviceUpdate
        fields = [
            "id",
            "device",
            "device_name",
            "former",
            "state",
            "reason_code",
            "reason_sentence",
            "asked_at",
            "installed_at",
            "changed_at",
        ]
        read_only_fields = fields


class AgentRolloutSerializer(serializers.ModelSerializer[AgentRollout]):
    """A release of the agent on its way to devices."""

    phases = serializers.ListField(child=serializers.FloatField(), read_only=True, help_text="shares of the devices")
    figures = serializers.DictField(
        read_only=True,
        help_text="devices that can be asked, failures, how many are in each state, and by code left_out",
    )

    class Meta:
        model = AgentRollout
        fields = [
            "id",
            "version",
            "tag",
            "device",
            "phases",
            "phase",
            "hold_s",
            "probation_s",
            "most_failures",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "phase_since",
            "ended_at",
            "figures",
        ]
        read_only_fields = fields


class AgentRolloutDetailSerializer(AgentRolloutSerializer):
    """A roll-out of the agent with every device's part in it."""

    updates = DeviceUpdateSerializer(many=True, read_only=True)

    class Meta(AgentRolloutSerializer.Meta):
        fields = [*AgentRolloutSerializer.Meta.fields, "updates"]
        read_only_fields = fields


class StartAgentRolloutSerializer(serializers.Serializer[None]):
    """Which release, and to whom."""

    version = serializers.CharField(max_length=40, help_text="a release of the repository that COTERIE_RELEASES names")
    tag = serializers.CharField(max_length=50, allow_blank=True, default="", help_text="whose devices; blank: all")
    device = serializers.PrimaryKeyRelatedField(
        queryset=Device.objects.all(), allow_null=True, default=None, help_text="the only one; null: those of the tag"
    )
    phases = serializers.ListField(
        child=serializers.FloatField(), default=PHASES, help_text="shares of the devices, each larger than the last"
    )
    hold_s = serializers.FloatField(
        min_value=0, max_value=LONGEST_HOLD_S, default=24 * 3600, help_text="seconds for which each phase is watched"
    )
    probation_s = serializers.FloatField(
        min_value=1,
        max_value=LONGEST_PROBATION_S,
        default=600,
        help_text="seconds within which the new agent must check in, else the device goes back by itself",
    )
    most_failures = serializers.FloatField(
        min_value=0, max_value=1, default=0.1, help_text="share of failing devices beyond which it is rolled back"
    )


class AgentRolloutFilter(serializers.Serializer[None]):
    """Which to list."""

    version = serializers.CharField(required=False)
    state = serializers.ChoiceField(AgentRollout.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="running or paused")


class AgentRolloutViewSet(ListedViewSet[AgentRollout]):
    """Roll-outs of the agent, youngest first."""

    queryset = AgentRollout.objects.all()
    serializer_class = AgentRolloutSerializer
    detail_serializer_class = AgentRolloutDetailSerializer
    active_states = AgentRollout.ACTIVE
    filters = AgentRolloutFilter
    sorts = {name: name for name in ("created_at", "ended_at")}
    searched = ("version", "tag", "reason_sentence")

    @extend_schema(responses=AgentRolloutDetailSerializer)
    def retrieve(self, request: Request, *args: object, **kwargs: object) -> Response:
        """A roll-out of the agent with every device's part in it."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=StartAgentRolloutSerializer, responses={201: AgentRolloutSerializer})
    def create(self, request: Request) -> Response:
        """Ask a growing share of devices to install a release of the agent."""
        wanted = StartAgentRolloutSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        rollout = services.start_agent_rollout(**wanted.validated_data, now=timezone.now())
        return Response(AgentRolloutSerializer(rollout).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, _request: Request, **_: str) -> Response:
        """Ask no further device until it is resumed."""
        rollout = self.get_object()
        services.pause_agent_rollout(rollout=rollout)
        return self._changed(rollout)

    @extend_schema(request=None, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, _request: Request, **_: str) -> Response:
        """Go on with a roll-out that was paused."""
        rollout = self.get_object()
        services.resume_agent_rollout(rollout=rollout, now=timezone.now())
        return self._changed(rollout)

    @extend_schema(request=None, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, _request: Request, **_: str) -> Response:
        """Ask nobody else; devices that have the release keep it."""
        rollout = self.get_object()
        services.stop_agent_rollout(rollout=rollout, now=timezone.now())
        return self._changed(rollout)

    @extend_schema(request=None, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"], url_path="roll-back")
    def roll_back(self, _request: Request, **_: str) -> Response:
        """Have devices go back to the agent before."""
        rollout = self.get_object()
        services.roll_back_agent_rollout(rollout=rollout, now=timezone.now())
        return self._changed(rollout)

    def get_queryset(self) -> QuerySet[AgentRollout]:
        """A single roll-out comes with every device's part."""
        rows = super().get_queryset()
        return rows.prefetch_related("updates__device") if self.action == "retrieve" else rows

    @staticmethod
    def _changed(rollout: AgentRollout) -> Response:
        rollout.refresh_from_db()
        return Response(AgentRolloutSerializer(rollout).data)
