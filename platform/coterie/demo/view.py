"""What the demo sees of the platform at one moment, as the REST API tells it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from coterie_wire.conditions import Reason


class DeviceRow(msgspec.Struct, frozen=True):
    """A device."""

    id: str
    name: str
    present: bool
    reasons: Sequence[Reason]


class UpdateRow(msgspec.Struct, frozen=True):
    """An update that counts."""

    size_bytes: int


class AssignmentRow(msgspec.Struct, frozen=True):
    """A device's part in a round."""

    device: str
    device_name: str
    state: str
    reason_sentence: str
    stage: str
    steps_done: int
    steps_total: int
    delivered: UpdateRow | None = None


class RoundRow(msgspec.Struct, frozen=True):
    """A round; lists leave the assignments out."""

    id: int
    number: int
    state: str
    reason_sentence: str
    metrics: Mapping[str, float]
    assignments: Sequence[AssignmentRow] = ()

    def count(self, *states: str) -> int:
        """Assignments in one of `states`."""
        return sum(assignment.state in states for assignment in self.assignments)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ("published", "abandoned")

    @property
    def update_sizes(self) -> Sequence[int]:
        """Size of each update that counts, in bytes."""
        return [row.delivered.size_bytes for row in self.assignments if row.delivered]


class TransferRow(msgspec.Struct, frozen=True):
    """One helper's part in a help request."""

    helper_name: str
    state: str
    reason_sentence: str
    size_bytes: int
    accuracy_before: float | None
    accuracy_after: float | None
    delivered_at: datetime | None

    @property
    def has_failed(self) -> bool:
        """Whether it came to nothing."""
        return self.state in ("declined", "rejected", "expired", "withdrawn")


class HelpRow(msgspec.Struct, frozen=True):
    """A device that asks for help."""

    id: str
    device_name: str
    classes: Sequence[int]
    state: str
    reason_sentence: str
    asked_at: datetime
    transfers: Sequence[TransferRow] = ()

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.state not in ("judged", "unmatched", "abandoned")

    @property
    def kept(self) -> TransferRow | None:
        """The help that the device has kept."""
        return next((row for row in self.transfers if row.state == "kept"), None)


class MemberRow(NamedTuple):
    """A device that learns outside of rounds."""

    name: str
    sees: str
    accuracy: float | None
    """On held-out samples of all digits that it sees; None: not measured yet."""
    does: str


class View(msgspec.Struct, frozen=True):
    """Everything on the screen."""

    devices: Sequence[DeviceRow] = ()
    rounds: Sequence[RoundRow] = ()
    """Oldest first."""
    is_finished: bool = False
    """Whether the federation has had its rounds."""

    @property
    def current(self) -> RoundRow | None:
        """The newest round."""
        return self.rounds[-1] if self.rounds else None

    def assignment_of(self, device: DeviceRow) -> AssignmentRow | None:
        """What the device does in the newest round."""
        if self.current is None:
            return None
        return next((row for row in self.current.assignments if row.device == device.id), None)
