"""A supernode's storage of neighbours' updates, until the platform does not need their sum any more."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import msgspec

from coterie_agent.home import write_private
from coterie_wire.errors import UNREADABLE
from coterie_wire.relaying import HandOver, SignedReceipt
from coterie_wire.structs import from_json


class HeldUpdate(msgspec.Struct, frozen=True):
    """A complete and verified update."""

    handed_over: HandOver
    receipt: SignedReceipt


@dataclass(frozen=True)
class HeldUpdates:
    """The updates of one round, one file each; complete ones survive power loss."""

    folder: Path

    def keep_only_this(self) -> None:
        """Remove the updates of other rounds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for other in self.folder.parent.iterdir():
            if other != self.folder:
                shutil.rmtree(other, ignore_errors=True)

    def assignments(self) -> Sequence[str]:
        """Assignments whose updates are complete or arriving."""
        return sorted({path.name.partition(".")[0] for path in self.folder.iterdir()})

    def find(self, assignment: str) -> HeldUpdate | None:
        """A complete update's receipt; None: it is not stored."""
        try:
            return from_json(self._receipt(assignment).read_bytes(), HeldUpdate)
        except (OSError, *UNREADABLE):
            return None

    def content(self, assignment: str) -> bytes:
        """The bytes of the update that have arrived."""
        try:
            return self.path(assignment).read_bytes()
        except FileNotFoundError:
            return b""

    def arrived_bytes(self, assignment: str) -> int:
        try:
            return self.path(assignment).stat().st_size
        except FileNotFoundError:
            return 0

    def grow(self, assignment: str, header: HandOver, chunk: bytes) -> int:
        """Append `chunk` if it continues the stored bytes; the number of bytes stored."""
        arrived = self.arrived_bytes(assignment)
        if header.offset != arrived or not chunk:
            return arrived
        with self.path(assignment).open("ab") as file:
            file.write(chunk[: header.size_bytes - arrived])
        return self.arrived_bytes(assignment)

    def keep(self, assignment: str, content: bytes, kept: HeldUpdate) -> None:
        """Write the update to the disk, and its receipt after it."""
        write_private(self.path(assignment), content)
        write_private(self._receipt(assignment), msgspec.json.encode(kept))

    def delete(self, assignment: str) -> None:
        self._receipt(assignment).unlink(missing_ok=True)
        self.path(assignment).unlink(missing_ok=True)

    def sound(self, assignment: str, sha256: str) -> bytes | None:
        """The update, if it matches its hash."""
        content = self.content(assignment)
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def whole(self, assignment: str) -> bytes | None:
        """A complete update, unless it was damaged since it was verified."""
        kept = self.find(assignment)
        return None if kept is None else self.sound(assignment, kept.handed_over.sha256)

    def path(self, assignment: str) -> Path:
        """The file of the update."""
        return self.folder / f"{UUID(assignment)}.update"

    def _receipt(self, assignment: str) -> Path:
        return self.folder / f"{UUID(assignment)}.json"
