"""The state that consoles have and the events that led to it: no sockets, no database, no clock."""

from collections import deque
from collections.abc import Collection, Iterable

from coterie.gateway.console.frames import AnyDocument, Changed, Documents, Event, Gone, Snapshot

KEPT_EVENTS = 2_000
"""How many past events are kept for consoles that have missed some."""


class Mirror:
    """Compares the state in the database with what was sent, and numbers the differences."""

    def __init__(self, epoch: str) -> None:
        self.epoch = epoch
        self.number = 0
        self.documents: Documents = {}
        self._past: deque[Event] = deque(maxlen=KEPT_EVENTS)

    def take(self, kinds: Collection[str], fresh: Iterable[AnyDocument]) -> list[Event]:
        """Replace all documents of `kinds` by `fresh`; returns the events that lead from the former documents
        to them.
        """
        found = {document.key: document for document in fresh}
        events: list[Event] = []
        for key in [key for key in self.documents if key.kind in kinds and key not in found]:
            del self.documents[key]
            events.append(Gone(number=self._next(), kind=key.kind, id=key.id))
        for key, document in found.items():
            if self.documents.get(key) != document:
                self.documents[key] = document
                events.append(Changed(number=self._next(), document=document))
        self._past.extend(events)
        return events

    def snapshot(self) -> Snapshot:
        """The current state, whole."""
        return Snapshot(number=self.number, epoch=self.epoch, documents=tuple(self.documents.values()))

    def since(self, epoch: str, number: int) -> list[Event] | None:
        """The events after `number`; None where they are no longer known, and a snapshot is needed."""
        if epoch != self.epoch or number > self.number:
            return None
        missed = [event for event in self._past if event.number > number]
        return missed if len(missed) == self.number - number else None

    def _next(self) -> int:
        self.number += 1
        return self.number
