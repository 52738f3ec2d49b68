"""Roll-outs of the agent as a Django app."""

from django.apps import AppConfig


class AgentRolloutsConfig(AppConfig):
    """Releases of the agent on their way to devices."""

    name = "coterie.agent_rollouts"
