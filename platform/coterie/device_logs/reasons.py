"""Why requests for logs wait, and how they ended: stable codes with their sentences."""

from coterie_wire.conditions import Reason

WAITS = Reason("device_logs.waits", "the device hears of it when it checks in next")
STOPPED = Reason("device_logs.stopped", "an operator stopped it")
NO_ANSWER = Reason("device_logs.no_answer", "neither the device nor its owner answered in time")
GONE = Reason("device_logs.gone", "the device is no longer in the fleet")
TOO_OLD = Reason("device_logs.too_old", "its agent is of a release that does not know how; update it")


def delivered(*, lines: int, left_out: int) -> Reason:
    """The log was delivered."""
    sentence = f"{lines} lines came"
    if left_out:
        sentence += f", the newest; {left_out} older ones are more than a delivery holds"
    return Reason("device_logs.delivered", sentence)
