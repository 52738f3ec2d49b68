"""How errors are rendered: RFC 9457 problem+json, over HTTP and as a refusal on the socket."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from coterie.core.disk import is_full
from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.outage import UNANSWERED, WATCH, DiskFull, database_away
from coterie_wire.errors import WireError
from coterie_wire.messages import Problem

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"

STATUS: Mapping[ErrorKind, HTTPStatus] = MappingProxyType(
    {
        ErrorKind.INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
        ErrorKind.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
        ErrorKind.FORBIDDEN: HTTPStatus.FORBIDDEN,
        ErrorKind.NOT_FOUND: HTTPStatus.NOT_FOUND,
        ErrorKind.CONFLICT: HTTPStatus.CONFLICT,
        ErrorKind.GONE: HTTPStatus.GONE,
        ErrorKind.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        ErrorKind.RANGE: HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        ErrorKind.THROTTLED: HTTPStatus.TOO_MANY_REQUESTS,
        ErrorKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    }
)

WIRE_STATUS: Mapping[str, HTTPStatus] = MappingProxyType({"wire.too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
"""The status of WireError codes other than for a body that does not match the schema."""


def problem_of(error: Exception) -> Problem:
    """The problem for `error`; an unexpected one is logged, and shown as ``internal``."""
    if isinstance(error, CoterieError):
        return problem(error.code, STATUS[error.kind], str(error), error.fields)
    if isinstance(error, WireError):
        return problem(error.code, WIRE_STATUS.get(error.code, HTTPStatus.UNPROCESSABLE_ENTITY), error.detail)
    if isinstance(error, UNANSWERED):
        WATCH.suspect()
        return problem_of(database_away())
    if isinstance(error, OSError) and is_full(error):
        logger.warning("a request failed: %s", error)
        return problem_of(DiskFull(wait_s=5))
    logger.error("a request failed", exc_info=error)
    return problem("internal", HTTPStatus.INTERNAL_SERVER_ERROR, "The platform failed; its log says how.")


def problem(
    code: str, status: HTTPStatus, detail: str, fields: Mapping[str, str | int | float | bool | None] | None = None
) -> Problem:
    """A problem whose title is the status in words."""
    encodable = {name: _encodable(value) if isinstance(value, str) else value for name, value in (fields or {}).items()}
    return Problem(code=code, title=status.phrase, status=status.value, detail=_encodable(detail), fields=encodable)


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which JSON allows and UTF-8 does not."""
    return text.encode("utf-8", "replace").decode()
