"""The tables in Django's admin, read-only; changes go through services, which record them."""

from django.contrib import admin

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.admin import ReadOnlyAdmin


@admin.register(AgentRollout)
class AgentRolloutAdmin(ReadOnlyAdmin):
    """Roll-outs of the agent."""

    list_display = ["version", "tag", "state", "reason_sentence", "created_at", "ended_at"]
    list_filter = ["state"]


@admin.register(DeviceUpdate)
class DeviceUpdateAdmin(ReadOnlyAdmin):
    """Single devices' updates."""

    list_display = ["rollout", "device", "state", "reason_sentence", "asked_at", "installed_at"]
