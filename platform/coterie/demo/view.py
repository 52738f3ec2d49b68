"""What the demo sees of the platform at one moment, as the REST API tells it."""

from collections.abc import Mapping, Sequence

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
