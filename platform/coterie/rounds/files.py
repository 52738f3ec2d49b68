"""Where updates lie: those that are arriving, each in a file of its assignment, and those that count, by content."""

from coterie.core.arrivals import Arrivals
from coterie.registry.content import ContentStore

UPLOADS = Arrivals("uploads")
"""By assignment."""


def updates_of(round_id: int) -> ContentStore:
    """A round's accepted updates, kept until some time after it has ended; one of its own, so that all go at once."""
    return ContentStore("updates", folder=str(round_id))
