"""The steps of a request for a log, each a compare-and-set on its row: of all workers that try, one succeeds."""

from coterie.core.durable import Steps
from coterie.device_logs.models import DeviceLog

State = DeviceLog.State
CUT_SHORT = frozenset({State.EXPIRED, State.CANCELLED})

STEPS = Steps(
    DeviceLog,
    ways={
        State.ASKED: frozenset({State.ALLOWED, State.REFUSED}) | CUT_SHORT,
        State.ALLOWED: frozenset({State.DELIVERED}) | CUT_SHORT,
    },
    app="device_logs",
)
