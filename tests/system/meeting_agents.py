"""Agents that can meet each other before any of them is asked."""

from collections.abc import Sequence

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import READY, UNPLUGGED, RealAgent


def start_to_meet(site: Site, agents: Sequence[RealAgent], *, within_s: float = 60.0) -> None:
    """Start `agents`, and have none be ready before the platform knows that each can be met."""
    for agent in agents:
        agent.set_conditions(UNPLUGGED)
        agent.start()
    for agent in agents:
        device = f"/devices/{agent.id}/"
        eventually(lambda device=device: site.operator.get(device)["capabilities"].get("meets"), within_s=within_s)
    for agent in agents:
        agent.set_conditions(READY)
