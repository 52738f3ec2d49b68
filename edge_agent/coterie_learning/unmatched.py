"""Why no device can help with a request, in counts: the same sentence from platform and simulator."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_wire.conditions import Reason


class UnmatchedTensors(NamedTuple):
    """How many devices cannot help, by the first reason that applies to each."""

    ignorant: int
    """They have not seen all of the troubled classes."""
    unwilling: int
    drifting: int
    no_better: int
    """They are no better on those classes, or overall, than the requesting device, or worse than the plan allows."""
    unlike: int
    """Their class shares are too different from those of the requesting device."""
    busy: int

    @property
    def devices(self) -> int:
        """The total."""
        return sum(self)


def no_helper_reason(unfit: UnmatchedTensors, classes: Sequence[int], *, tried: int) -> Reason:
    """The reason for a request for help with `classes`, after `tried` devices were asked without success."""
    troubled = f"class{'' if len(classes) == 1 else 'es'} {', '.join(map(str, classes))}"
    after = f"; {tried} tried already" if tried else ""
    if not unfit.devices:
        others = "no other device tells about its data" if not tried else "no other device is left to ask"
        return Reason("transfer.no_neighbour", f"{others}, so none can help with {troubled}{after}")
    known = f"{unfit.devices:,} other device{' tells' if unfit.devices == 1 else 's tell'} about their data"
    why = (
        (unfit.ignorant, "without samples of it" if len(classes) == 1 else "without samples of all of them"),
        (unfit.no_better, "no better than this device"),
        (unfit.drifting, "failing too"),
        (unfit.unlike, "with too different data"),
        (unfit.unwilling, "unwilling"),
        (unfit.busy, "busy"),
    )
    parts = ", ".join(f"{count:,} {what}" for count, what in why if count)
    return Reason("transfer.no_neighbour", f"{known}, none can help with {troubled}: {parts}{after}")
