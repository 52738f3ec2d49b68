"""Records devices' reports on updates of their agents."""

from datetime import datetime
from uuid import UUID

from coterie.agent_rollouts.errors import UnknownUpdate
from coterie.agent_rollouts.models import DeviceUpdate
from coterie.core.durable import reason_columns
from coterie.core.events import notify_consoles
from coterie.fleet.models import Device
from coterie_wire.updating import WITHDRAWN, ReportUpdate, UpdateOutcome

STATES: dict[UpdateOutcome, DeviceUpdate.State] = {
    "waiting": DeviceUpdate.State.WAITING,
    "installed": DeviceUpdate.State.INSTALLED,
    "refused": DeviceUpdate.State.REFUSED,
    "rolled_back": DeviceUpdate.State.FAILED,
    "returned": DeviceUpdate.State.RETURNED,
}


def record_update(*, device: Device, report: ReportUpdate, now: datetime) -> None:
    """Store what the device reports. Raises UnknownUpdate."""
    found = DeviceUpdate.objects.filter(device=device)
    try:
        update = found.select_related("rollout").get(pk=UUID(report.update))
    except (ValueError, DeviceUpdate.DoesNotExist) as error:
        raise UnknownUpdate(update=report.update) from error
    state = STATES[report.outcome]
    if report.reason is not None and report.reason.code == WITHDRAWN:
        state = DeviceUpdate.State.RETURNED  # by this platform's own order
    installed_at = now if state == DeviceUpdate.State.INSTALLED else update.installed_at
    columns = {"state": state, "changed_at": now, "installed_at": installed_at, **reason_columns(report.reason)}
    found.filter(pk=update.pk).update(**columns)
    notify_consoles("agent_rollouts")
