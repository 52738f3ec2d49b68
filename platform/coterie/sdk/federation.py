"""A federation, as a script or a notebook sees it."""

import msgspec

from coterie.offline.progress import ProgressLine
from coterie.sdk.records import Round
from coterie.sdk.rest import Rest


class FederationRecord(msgspec.Struct, frozen=True):
    """What the platform tells of it."""

    id: str
    name: str
    state: str
    members: int


class Federation:
    """Every method raises Refused or Unreachable."""

    def __init__(self, rest: Rest, record: FederationRecord) -> None:
        self._rest = rest
        self._record = record

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._record.id

    @property
    def state(self) -> str:
        """``draft``, ``running``, ``paused`` or ``finished``: asked each time."""
        return self._rest.get(f"federations/{self.id}/", FederationRecord).state

    def start(self) -> None:
        """Hold rounds from now on."""
        self._move("start")

    def pause(self) -> None:
        """Open no further round until it is started again."""
        self._move("pause")

    def finish(self) -> None:
        """Open no further round, for good."""
        self._move("finish")

    def rounds(self) -> list[Round]:
        """The newest 500, the first one first."""
        return self._rest.page("rounds/", Round, federation=self.id, sort="number")

    def wait_for_round(self, number: int = 1, *, progress: bool = True) -> Round:
        """Round `number`, once it is published or abandoned; until then the line says what it waits for."""
        with ProgressLine.wanted(progress) as line:
            while True:
                found = next((one for one in self.rounds() if one.number == number), None)
                line.tell(str(found) if found else f"round {number} is not planned yet")
                if found is not None and found.is_over:
                    return found
                self._rest.pause()

    def _move(self, action: str) -> None:
        self._record = self._rest.post(f"federations/{self.id}/{action}/", FederationRecord, {})
