"""How the agents of single devices were replaced may go; how many went where stays with the roll-out."""

from datetime import datetime

from django.db.models import Q, QuerySet

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.pruning import OldRows, parts_of


def old_updates(before: datetime) -> QuerySet[DeviceUpdate]:
    """Of roll-outs that have ended. Not the order to go back that a device has not followed: it may have been off."""
    is_to_return = Q(state=DeviceUpdate.State.INSTALLED, rollout__state=AgentRollout.State.ROLLED_BACK)
    updates = parts_of(AgentRollout.objects.filter(ended_at__lt=before), DeviceUpdate, "rollout")
    return updates.filter(changed_at__lt=before).exclude(is_to_return)


OLD_ROWS = (OldRows("parts of roll-outs of the agent", old_updates),)
