"""The one error of the platform: a stable code, a kind, typed fields and a sentence; it knows no HTTP."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from coterie_wire.conditions import Reason

Field = str | int | float | bool | None


class ErrorKind(StrEnum):
    """What an error means for the caller; the gateway maps each to HTTP, socket and retry behaviour."""

    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    TOO_LARGE = "too_large"
    RANGE = "range"
    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable"


class CoterieError(Exception):
    """An error that the caller can act on. Subclasses are defined beside the service that raises them.

    `sentence` is a template over the fields: what was found, and what to do.
    """

    code: ClassVar[str]
    kind: ClassVar[ErrorKind]
    sentence: ClassVar[str]

    def __init__(self, **fields: Field) -> None:
        self.fields: Mapping[str, Field] = fields
        super().__init__(self.sentence.format(**fields))

    def reason(self) -> Reason:
        """Its code and its sentence, cut to the longest that is stored or sent."""
        return Reason(self.code, str(self)[:400])
