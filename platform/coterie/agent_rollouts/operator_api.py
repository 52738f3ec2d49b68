"""Roll-outs of the agent in the operators' REST API."""

from collections.abc import Mapping

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.agent_rollouts import reasons, services
from coterie.agent_rollouts.models import ABSENT_S, AgentRollout, DeviceUpdate
from coterie.core.aged_api import AgedSerializer
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.core.why_api import WhyField, why_in
from coterie.fleet.models import Device

LONGEST_HOLD_S = 30 * 24 * 3600
LONGEST_PROBATION_S = 24 * 3600
PHASES = [0.05, 0.25, 1.0]


class DeviceUpdateSerializer(serializers.ModelSerializer[DeviceUpdate]):
    """One device's part in a roll-out of the agent."""

    version = serializers.CharField(
        source="rollout.version", read_only=True, help_text="of the agent that it is to have"
    )
    device_name = serializers.CharField(source="device.name", read_only=True)

    class Meta:
        model = DeviceUpdate
        fields = [
            "id",
            "rollout",
            "version",
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


class LeftOutSerializer(serializers.Serializer[None]):
    """Devices that take no updates for the same reason."""

    code = serializers.CharField()
    sentence = serializers.CharField()
    devices = serializers.IntegerField()


def left_out_of(devices: Mapping[str, int]) -> list[dict[str, object]]:
    """Devices by code as `LeftOutSerializer` tells of them, most first; a code that is not known stands for itself."""
    ordered = sorted(devices.items(), key=lambda item: (-item[1], item[0]))
    return [{"code": code, "sentence": reasons.LEFT_OUT.get(code, code), "devices": many} for code, many in ordered]


class AgentRolloutSerializer(AgedSerializer[AgentRollout]):
    """A release of the agent on its way to devices."""

    phases = serializers.ListField(child=serializers.FloatField(), read_only=True, help_text="shares of the devices")
    figures = serializers.DictField(
        read_only=True,
        help_text="devices that can be asked, failures, how many are in each state, and by code left_out; of the "
        "present phase phase_devices, phase_answered and phase_absent",
    )
    left_out = serializers.SerializerMethodField(help_text="why other devices are not asked, most first")

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
            "absent_s",
            "most_failures",
            "state",
            "reason_code",
            "reason_sentence",
            "created_at",
            "phase_since",
            "ended_at",
            "figures",
            "answers_deleted_after_days",
            "left_out",
        ]
        read_only_fields = fields

    @extend_schema_field(LeftOutSerializer(many=True))
    def get_left_out(self, rollout: AgentRollout) -> list[dict[str, object]]:
        """By code, most first."""
        return left_out_of(rollout.figures.get("left_out", {}))


class WhySerializer(serializers.Serializer[None]):
    """An operator's reason."""

    why = WhyField(help_text="stands in the roll-out's reason")


class StartAgentRolloutSerializer(serializers.Serializer[None]):
    """Which release, and to whom."""

    version = serializers.CharField(max_length=40, help_text="a release that coterie releases publish has brought")
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
    absent_s = serializers.FloatField(
        min_value=0,
        max_value=LONGEST_HOLD_S,
        default=ABSENT_S,
        help_text="seconds for which a phase waits for the first of its devices to have it; then it is paused",
    )
    most_failures = serializers.FloatField(
        min_value=0, max_value=1, default=0.1, help_text="share of failing devices beyond which it is rolled back"
    )


class AgentRolloutFilter(serializers.Serializer[None]):
    """Which to list."""

    version = serializers.CharField(required=False)
    state = ChoiceField(AgentRollout.State.choices, required=False)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="running or paused")


class AgentRolloutViewSet(ListedViewSet[AgentRollout]):
    """Roll-outs of the agent, youngest first."""

    queryset = AgentRollout.objects.all()
    serializer_class = AgentRolloutSerializer
    active_states = AgentRollout.ACTIVE
    filters = AgentRolloutFilter
    sorts = {name: name for name in ("created_at", "ended_at")}
    searched = ("version", "tag", "reason_sentence")

    @extend_schema(request=StartAgentRolloutSerializer, responses={201: AgentRolloutSerializer})
    def create(self, request: Request) -> Response:
        """Ask a growing share of devices to install a release of the agent."""
        wanted = StartAgentRolloutSerializer(data=request.data)
        check_body(wanted)
        rollout = services.start_agent_rollout(**wanted.validated_data, now=timezone.now())
        return Response(AgentRolloutSerializer(rollout).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=WhySerializer, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, **_: str) -> Response:
        """Ask no further device until it is resumed."""
        rollout = self.get_object()
        services.pause_agent_rollout(rollout=rollout, why=why_in(request, WhySerializer))
        return self._changed(rollout)

    @extend_schema(request=None, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, _request: Request, **_: str) -> Response:
        """Go on with a roll-out that was paused."""
        rollout = self.get_object()
        services.resume_agent_rollout(rollout=rollout, now=timezone.now())
        return self._changed(rollout)

    @extend_schema(request=WhySerializer, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"], url_path="pass-phase")
    def pass_phase(self, request: Request, **_: str) -> Response:
        """Begin the next phase, whatever the present one has told."""
        rollout = self.get_object()
        services.pass_phase(rollout=rollout, why=why_in(request, WhySerializer), now=timezone.now())
        return self._changed(rollout)

    @extend_schema(request=WhySerializer, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, **_: str) -> Response:
        """Ask nobody else; devices that have the release keep it."""
        rollout = self.get_object()
        services.stop_agent_rollout(rollout=rollout, why=why_in(request, WhySerializer), now=timezone.now())
        return self._changed(rollout)

    @extend_schema(request=WhySerializer, responses=AgentRolloutSerializer)
    @action(detail=True, methods=["post"], url_path="roll-back")
    def roll_back(self, request: Request, **_: str) -> Response:
        """Have devices go back to the agent before."""
        rollout = self.get_object()
        services.roll_back_agent_rollout(rollout=rollout, why=why_in(request, WhySerializer), now=timezone.now())
        return self._changed(rollout)

    @staticmethod
    def _changed(rollout: AgentRollout) -> Response:
        rollout.refresh_from_db()
        return Response(AgentRolloutSerializer(rollout).data)


class DeviceUpdateFilter(serializers.Serializer[None]):
    """Which devices' parts to list."""

    rollout = serializers.UUIDField(required=False, help_text="id of a roll-out of the agent")
    device = serializers.UUIDField(required=False)
    state = ChoiceField(DeviceUpdate.State.choices, required=False)


class DeviceUpdateViewSet(ListedViewSet[DeviceUpdate]):
    """Devices' parts in roll-outs of the agent, those that changed last first."""

    queryset = DeviceUpdate.objects.select_related("device", "rollout").order_by("-changed_at", "-id")
    serializer_class = DeviceUpdateSerializer
    filters = DeviceUpdateFilter
    sorts = {"device": "device__name", "asked_at": "asked_at", "changed_at": "changed_at"}
    searched = ("device__name", "reason_sentence")
