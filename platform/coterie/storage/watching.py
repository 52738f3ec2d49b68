"""Whether the file storage answers: tried now, and watched by each server process for ``/healthz`` and the repairs."""

import secrets
import time
from contextlib import suppress

from coterie.core.away import AWAY, STORAGE
from coterie.storage.interface import StorageUnavailable, Store, store_of

FOLDER = "probes"
WATCH_EVERY_S = 15.0


def why_unfit(store: Store) -> str | None:
    """What the store does otherwise than it must; None: nothing. Raises StorageUnavailable or OSError.

    Writes a few bytes under a new name, and removes them.
    """
    name, content = f"{FOLDER}/{secrets.token_hex(8)}", b"to be removed"
    if not store.create(name, content):
        return "a new name could not be created"
    try:
        overwrites = store.create(name, b"other")
        with store.open(name) as file:
            file.seek(3)
            gives_back = file.read() == content[3:]
    finally:
        store.delete(name)
    if overwrites:
        return "it overwrites what must not be: it does not know If-None-Match, which uploads need"
    return None if gives_back else "it does not give back what was kept"


def look(store: Store) -> None:
    """Record whether the storage is away: while it is, it has to take something; otherwise it is only read from."""
    # The first has recorded itself; after the other, no room, say, the storage stays away until it takes something.
    with suppress(StorageUnavailable, OSError):
        if STORAGE not in AWAY:
            store.exists(FOLDER)
        elif why_unfit(store) is None:
            AWAY.record_answer(STORAGE)


def watch_storage() -> None:
    """Look again and again, on a thread of its own: a silent storage answers nothing for a minute."""
    while True:
        time.sleep(WATCH_EVERY_S)
        look(store_of("default"))
