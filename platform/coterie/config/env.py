"""The only reader of the environment."""

import os
from pathlib import Path
from typing import Literal, Self

import msgspec


class Env(msgspec.Struct, frozen=True):
    """What the environment may set, each with its default; every name is ``COTERIE_`` and the field in capitals."""

    mode: Literal["embedded", "scaled"] = "embedded"
    """Embedded: SQLite, files and threads in one process. Scaled: PostgreSQL, Redis, any number of processes."""
    state: Path = Path("coterie-state")
    """Directory of everything that embedded mode keeps, and of the blobs where no object storage is set."""
    database_url: str = ""
    """Scaled: ``postgresql://user:password@host:port/name``."""
    redis_url: str = ""
    """Scaled: ``redis://host:port/db``."""
    secret_key: str = ""
    """Scaled: Django's secret. Embedded makes one and keeps it in the state directory."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Names under which clients reach the platform (JSON list)."""
    debug: bool = False

    @classmethod
    def read(cls) -> Self:
        """Raises msgspec.ValidationError with the name of the variable that does not fit."""
        raise NotImplementedError


ENVIRON = os.environ
