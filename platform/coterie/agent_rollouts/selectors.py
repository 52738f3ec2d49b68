"""Queries on roll-outs of the agent."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.fleet.agents import agents_of
from coterie.fleet.models import Device, DeviceAgent
from coterie_wire.updating import AgentUpdate

State = AgentRollout.State


def supports_updates(device: Device) -> bool:
    """Whether its agent can be updated."""
    return device.capabilities.get("updates") is not None


def updates_of(devices: Sequence[Device]) -> Mapping[UUID, AgentUpdate]:
    """By device, the update of its agent that it should make now; one query, and none where no agent can be updated."""
    able = [device for device in devices if supports_updates(device)]
    if not able:
        return {}
    asked = DeviceUpdate.objects.filter(device__in=able, state__in=(*DeviceUpdate.OPEN, DeviceUpdate.State.INSTALLED))
    found = {}
    for update in asked.filter(rollout__state__in=(State.RUNNING, State.ROLLED_BACK)).select_related("rollout"):
        is_open = update.state in DeviceUpdate.OPEN
        if is_open != (update.rollout.state == State.RUNNING):
            continue
        found[update.device_id] = AgentUpdate(
            update=str(update.pk),
            version=update.rollout.version,
            probation_s=update.rollout.probation_s,
            to_do="install" if is_open else "return",
        )
    return found


def agents_not_asked(rollout: AgentRollout) -> QuerySet[DeviceAgent]:
    """The agents of the enrolled devices that it is for and has not asked."""
    asked = DeviceUpdate.objects.filter(rollout=rollout, device=OuterRef("pk"))
    agents = agents_of(rollout.tag).filter(~Exists(asked), project=rollout.project_id)
    return agents if rollout.device_id is None else agents.filter(pk=rollout.device_id)
