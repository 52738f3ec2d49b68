"""The database rows of the personal model, which transfers, local training and rounds change."""

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

ELSEWHERE = ""
"""In place of a version: the device has moved to another federation since then."""


THE_VERSION = b""
"""In place of tensors: the held version answers, since the personal model was no better."""


class PersonalEdition(NamedTuple):
    """Identifies the parameters that the device predicts with."""

    base: str
    """Version from which they were trained."""
    edition: int
    """Grows with every change."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether they come from another federation than the one whose plan applies."""
        return self.base == ELSEWHERE


class PersonalTensors(NamedTuple):
    """The parameters themselves."""

    base: str
    tensors: bytes
    """As safetensors."""


def find_personal(cursor: sqlite3.Cursor) -> PersonalEdition | None:
    """None: the device predicts with the version that it holds."""
    row = cursor.execute("SELECT base, edition FROM personal_model").fetchone()
    return PersonalEdition(*row) if row else None


def is_answering(cursor: sqlite3.Cursor) -> bool:
    """Whether there are personal parameters to predict with."""
    row = cursor.execute("SELECT length(tensors) FROM personal_model").fetchone()
    return row is not None and row[0] > 0


def write_personal(cursor: sqlite3.Cursor, own: PersonalTensors) -> None:
    """Predict with `own` from now on; a personal model of another version is kept for `undo_personal`."""
    cursor.execute(
        "INSERT OR REPLACE INTO former_personal_model SELECT 1, base, tensors, seal(base, tensors)"
        " FROM personal_model WHERE base != ? AND seal IS seal(base, edition, tensors)",
        (own.base,),
    )
    known = find_personal(cursor)
    row = (own.base, 1 if known is None else known.edition + 1, own.tensors)
    cursor.execute("INSERT OR REPLACE INTO personal_model VALUES (1, ?1, ?2, ?3, seal(?1, ?2, ?3))", row)


def carry_over(cursor: sqlite3.Cursor) -> None:
    """Keep predicting with the personal model in another federation, until it is compared with a version there."""
    cursor.execute(
        "UPDATE personal_model SET base = ?1, edition = edition + 1, seal = seal(?1, edition + 1, tensors)"
        " WHERE seal IS seal(base, edition, tensors)",
        (ELSEWHERE,),
    )
    for table in ("former_personal_model", "kept_portion"):
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names from the line above


def drop_personal(cursor: sqlite3.Cursor) -> None:
    """Predict with the version that the device holds, and remove all earlier personal models."""
    for table in ("personal_model", "former_personal_model", "kept_portion"):
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names from the line above


def undo_personal(cursor: sqlite3.Cursor, withdrawn: Collection[str]) -> bool:
    """Undo the personal model if it came from one of the versions `withdrawn`: restore the one before; whether it did.

    Where the one before came from such a version too, or there is none, the personal model is removed.
    """
    own = find_personal(cursor)
    if own is None or own.base not in withdrawn:
        return False
    former = cursor.execute(
        "SELECT base, tensors FROM former_personal_model WHERE seal IS seal(base, tensors)"
    ).fetchone()
    if former is None or former[0] in withdrawn:
        drop_personal(cursor)
        return True
    write_personal(cursor, PersonalTensors(*former))
    cursor.execute("DELETE FROM former_personal_model")
    cursor.execute("DELETE FROM kept_portion")
    return True
