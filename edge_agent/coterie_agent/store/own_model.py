"""The rows of the device's own model, which both the company it keeps and its rounds change."""

import sqlite3
from typing import NamedTuple


class Own(NamedTuple):
    """Which parameters the device predicts with."""

    base: str
    """Version that they come from."""
    edition: int
    """Grows with every change of them."""


class OwnTensors(NamedTuple):
    """The parameters themselves."""

    base: str
    tensors: bytes
    """As safetensors."""


def find_own(cursor: sqlite3.Cursor) -> Own | None:
    """None: the device predicts with the version that it holds."""
    row = cursor.execute("SELECT base, edition FROM own_model").fetchone()
    return Own(*row) if row else None


def write_own(cursor: sqlite3.Cursor, own: OwnTensors) -> None:
    """Predict with `own` from now on."""
    cursor.execute(
        "INSERT INTO own_model VALUES (1, ?, 1, ?)"
        " ON CONFLICT (one) DO UPDATE SET base = excluded.base, edition = edition + 1, tensors = excluded.tensors",
        own,
    )
