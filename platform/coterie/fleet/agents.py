"""Which agents enrolled devices run, and which of them can be updated."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.db.models import Count, QuerySet

from coterie.core.rows import Row, insert_all, update_each
from coterie.fleet.models import Device, DeviceAgent
from coterie.fleet.selectors import with_tag
from coterie_wire.messages import Capabilities

UNKNOWN = "updates.unknown"
"""Why a device whose agent is too old for updates takes none."""


class Agents(NamedTuple):
    """Devices whose agents have the same release and the same reason against updates."""

    version: str
    refuses_updates: str
    """Code of why they take no updates; blank: they take them."""
    devices: int


def add_agents(reported: Sequence[tuple[Device, Capabilities]]) -> None:
    """Store the agents of devices that have just joined."""
    insert_all([_agent_of(device, capabilities) for device, capabilities in reported])


def change_agents(reported: Sequence[tuple[Device, Capabilities]]) -> None:
    """Store what enrolled devices report of their agents; devices that have left meanwhile are skipped."""
    agents = [_agent_of(device, capabilities) for device, capabilities in reported]
    rows = [Row(agent.device_id, [agent.version, agent.refuses_updates]) for agent in agents]
    update_each(DeviceAgent, ("version", "refuses_updates"), rows, where={})


def agents_of(tag: str) -> QuerySet[DeviceAgent]:
    """The agents of enrolled devices; with `tag`, of those that carry it."""
    agents = DeviceAgent.objects.all()
    return agents.filter(device__in=with_tag(Device.objects.all(), tag).values("pk")) if tag else agents


def count_by_release(agents: QuerySet[DeviceAgent]) -> Iterator[Agents]:
    """Count `agents` by release and by why they take no updates."""
    counted = agents.order_by().values_list("version", "refuses_updates").annotate(devices=Count("pk"))
    return (Agents(*row) for row in counted)


def _agent_of(device: Device, capabilities: Capabilities) -> DeviceAgent:
    updates = capabilities.updates
    refuses = UNKNOWN if updates is None else updates.refuses.code if updates.refuses is not None else ""
    return DeviceAgent(device=device, project_id=device.project_id, version=capabilities.agent, refuses_updates=refuses)
