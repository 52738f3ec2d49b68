"""Which phones may open the owner's page over the network: hashes of the secrets that they show."""

import hashlib

from coterie_agent.store.database import Database

MAX_PHONES = 16
"""Let in at once; the one whose time ends first makes room."""


class PhoneStore:
    """Every method is one transaction; times are in seconds since 1970. A damaged row lets nobody in."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def offer(self, secret: str, *, until: float) -> None:
        """Let in whoever shows `secret` first, until then; the one that was offered before is good no longer."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO page_link VALUES (1, ?, ?)", (_hash(secret), until))

    def take(self, secret: str, key: str, *, now: float, until: float) -> bool:
        """Spend the secret that is offered, and know a phone by `key` until then. Whether `secret` was that one."""
        with self._database.transaction() as cursor:
            spent = cursor.execute("DELETE FROM page_link WHERE secret = ? AND until > ?", (_hash(secret), now))
            if not spent.rowcount:
                return False
            cursor.execute("DELETE FROM phone WHERE until <= ?", (now,))
            cursor.execute(
                "DELETE FROM phone WHERE key IN (SELECT key FROM phone ORDER BY until DESC LIMIT -1 OFFSET ?)",
                (MAX_PHONES - 1,),
            )
            cursor.execute("INSERT INTO phone VALUES (?, ?)", (_hash(key), until))
        return True

    def knows(self, key: str, *, now: float) -> bool:
        """Whether a phone with this key was let in."""
        with self._database.reading() as cursor:
            query = "SELECT 1 FROM phone WHERE key = ? AND until > ?"
            return cursor.execute(query, (_hash(key), now)).fetchone() is not None

    def count(self, *, now: float) -> int:
        """Phones that are let in."""
        with self._database.reading() as cursor:
            (found,) = cursor.execute("SELECT count(*) FROM phone WHERE until > ?", (now,)).fetchone()
        return int(found)

    def sign_out(self) -> None:
        """Let none in any more, and take back the secret that is offered."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM phone")
            cursor.execute("DELETE FROM page_link")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()  # of 256 random bits, which need no slow hash
