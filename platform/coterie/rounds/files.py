"""Where updates lie: those that are arriving, each in a file of its assignment, and those that count, by content."""

from pathlib import Path
from uuid import UUID

from django.conf import settings

from coterie.registry.content import ContentStore


def updates_of(round_id: int) -> ContentStore:
    """A round's accepted updates, kept until some time after it has ended; one of its own, so that all go at once."""
    return ContentStore("updates", folder=str(round_id))


def part_path(assignment_id: UUID) -> Path:
    """The file that an assignment's update arrives in. Platform processes share the directory."""
    directory = Path(settings.STATE) / "uploads"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{assignment_id}.part"


def arrived_bytes(assignment_id: UUID) -> int:
    """How much of an update has arrived."""
    try:
        return part_path(assignment_id).stat().st_size
    except FileNotFoundError:
        return 0


def discard_part(assignment_id: UUID) -> None:
    """Remove what has arrived; nothing happens if nothing has."""
    part_path(assignment_id).unlink(missing_ok=True)


def assignments_with_parts() -> set[UUID]:
    """Every assignment whose update is arriving, or was."""
    return {UUID(path.stem) for path in part_path(UUID(int=0)).parent.glob("*.part")}
