"""Of several beats one is active: the one that holds a lock of the database, for as long as its session there lives.

The server releases the lock when the session ends: at once when the process is killed, and after `SILENCE_S` when its
machine can no longer be reached. Two active beats for a moment would do no harm, since their tasks may be done twice.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

import psycopg
from django.conf import settings

from coterie.core.one_line import one_line

logger = logging.getLogger(__name__)

LOCK_NUMBER = 0x636F746572696502
"""Of the advisory lock: the platform's name, and a number."""
RETRY_S = 2.0
SILENCE_S = 20


class Leadership:
    """Whether this process is the active beat."""

    def __init__(self) -> None:
        self._session: psycopg.Connection[tuple[object, ...]] | None = None
        self._leads = False
        self._tried_at = float("-inf")

    def holds(self) -> bool:
        """Whether it leads, as checked within the last seconds; without an answer of the database nobody leads."""
        if time.monotonic() - self._tried_at >= RETRY_S:
            leads = self._try_lock()
            if leads != self._leads:
                logger.warning("this beat %s", "acts from now on" if leads else "no longer acts")
            self._leads, self._tried_at = leads, time.monotonic()
        return self._leads

    def found(self) -> bool:
        """The last result of `holds`; may be read from any thread."""
        return self._leads

    def resign(self) -> None:
        """Release the lock."""
        self._leads = False
        if self._session is not None:
            with suppress(psycopg.Error):
                self._session.close()
            self._session = None

    def _try_lock(self) -> bool:
        try:
            if self._session is None:
                self._session = _session()
            # Locking again while one holds it counts up; the end of the session releases everything.
            query = "SELECT 1" if self._leads else "SELECT pg_try_advisory_lock(%s)"
            row = self._session.execute(query, None if self._leads else [LOCK_NUMBER]).fetchone()
        except psycopg.Error as error:
            logger.warning("the database does not tell which beat acts: %s", one_line(error))
            self.resign()
            return False
        return row is not None and bool(row[0])


def _session() -> psycopg.Connection[tuple[object, ...]]:
    database = cast(Mapping[str, str], settings.DATABASES["default"])
    return psycopg.connect(
        dbname=database["NAME"],
        user=database["USER"],
        password=database["PASSWORD"],
        host=database["HOST"],
        port=database["PORT"],
        autocommit=True,
        connect_timeout=5,
        tcp_user_timeout=1000 * SILENCE_S,
        keepalives_idle=SILENCE_S // 4,
        keepalives_interval=SILENCE_S // 4,
        keepalives_count=3,
        options=" ".join(
            f"-c tcp_keepalives_{name}={value}"
            for name, value in (("idle", SILENCE_S // 4), ("interval", SILENCE_S // 4), ("count", 3))
        ),
    )


LEADERSHIP = Leadership()
"""Of this process."""
