"""The backend, with the names that Django expects: ``ENGINE`` and ``.base``.

Threads of the pool connect, and retry; who waits for a connection is told by the pool only that none came in time.
"""

from typing import Any, ClassVar

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from coterie.core.one_line import one_line


class ToldConnection(psycopg.Connection[Any]):
    """A connection whose class knows why the latest one was not made."""

    latest_failure: ClassVar[str] = ""
    """Blank: the latest attempt succeeded."""

    @classmethod
    def connect(cls, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as psycopg declares it
        """As psycopg's; what failed is told on one line, as the pool logs each attempt."""
        try:
            made = super().connect(*given, **named)
        except psycopg.Error as error:
            ToldConnection.latest_failure = one_line(error)
            raise type(error)(ToldConnection.latest_failure) from error
        ToldConnection.latest_failure = ""
        return made


class DatabaseWrapper(base.DatabaseWrapper):
    """One thread's connection."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:  # noqa: ANN401 - as Django has it
        """As Django's."""
        try:
            return super().get_new_connection(conn_params)
        except PoolTimeout as error:
            cause = ToldConnection.latest_failure or "all connections of this process are in use"
            raise PoolTimeout(f"{error}: {cause}") from error
