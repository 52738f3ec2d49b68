"""Where portions are stored: while they arrive, and until they are fetched or their transfer has ended."""

from uuid import UUID

from django.db import transaction

from coterie.registry.content import ContentStore
from coterie.storage.arrivals import Arrivals

ARRIVING = Arrivals("arriving-portions")
"""By transfer."""


def portion_of(transfer_id: UUID) -> ContentStore:
    """The store that holds a transfer's portion."""
    return ContentStore("portions", folder=str(transfer_id))


def discard_portion(transfer_id: UUID) -> None:
    """Remove what has arrived of a transfer, once the current transaction commits."""

    def discard() -> None:
        ARRIVING.discard(transfer_id)
        portion_of(transfer_id).clear()

    transaction.on_commit(discard)
