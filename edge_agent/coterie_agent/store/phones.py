"""The phones that may open the owner's page over the network: hashes of the secrets that they present."""

import hashlib

from coterie_agent.store.database import Database

MAX_PHONES = 16
"""Phones signed in at the same time; the one that expires first makes room."""


class PhoneStore:
    """Every method is one transaction; times are in seconds since 1970. A damaged row admits no phone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def offer(self, secret: str, *, until: float) -> None:
        """Admit the first phone that presents `secret` before `until`; a secret offered earlier becomes invalid."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO page_link VALUES (1, ?, ?)", (_hash(secret), until))

    def take(self, secret: str, key: str, *, now: float, until: float) -> bool:
        """Sign in a phone under `key` until then, if `secret` is the one offered, which is used up; whether it was."""
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

    def is_signed_in(self, key: str, *, now: float) -> bool:
        """Whether a phone with this key is signed in."""
        with self._database.reading() as cursor:
            query = "SELECT 1 FROM phone WHERE key = ? AND until > ?"
            return cursor.execute(query, (_hash(key), now)).fetchone() is not None

    def count(self, *, now: float) -> int:
        """Number of phones signed in."""
        with self._database.reading() as cursor:
            (found,) = cursor.execute("SELECT count(*) FROM phone WHERE until > ?", (now,)).fetchone()
        return int(found)

    def sign_out(self) -> None:
        """Sign out all phones, and invalidate the offered secret."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM phone")
            cursor.execute("DELETE FROM page_link")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()  # of 256 random bits, which need no slow hash
