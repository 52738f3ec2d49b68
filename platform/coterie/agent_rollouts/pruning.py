"""Old updates of single devices' agents are deleted; their counts stay with the roll-out."""

from datetime import datetime

from django.db.models import Q, QuerySet

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.pruning import OldRows, parts_of


def old_updates(before: datetime) -> QuerySet[DeviceUpdate]:
    """Updates of ended roll-outs, except rollbacks that a device has not followed yet: it may have been off."""
    is_to_return = Q(state=DeviceUpdate.State.INSTALLED, rollout__state=AgentRollout.State.ROLLED_BACK)
    updates = parts_of(AgentRollout.objects.filter(ended_at__lt=before), DeviceUpdate, "rollout")
    return updates.filter(changed_at__lt=before).exclude(is_to_return)


OLD_ROWS = (OldRows("parts of roll-outs of the agent", old_updates),)
