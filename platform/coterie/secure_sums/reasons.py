"""Why secure sums wait, and why devices are not in them."""

from coterie_wire.conditions import Reason

CLOSED = Reason("secure_sum.closed", "the list of those who take part was closed before the device had joined")
LATE = Reason("secure_sum.late", "the sum went on without the device, which did not answer in time")


def joining(joined: int) -> Reason:
    """Devices are still training."""
    return Reason("secure_sum.joining", f"{joined} devices wait for others to be summed with")


def waits(state: str, came: int, of: int) -> Reason:
    """Some members have not answered yet; `state` is that of the sum."""
    what = {
        "sharing": "have shared what recovers the sum without them",
        "masking": "have sent their masked vectors",
        "revealing": "have revealed what unmasks the sum",
        "collected": "are summed",
    }[state]
    return Reason(f"secure_sum.{state}", f"{came} of {of} devices {what}")
