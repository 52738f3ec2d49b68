"""The body of a REST request: JSON of bounded size and depth, whose numbers are finite."""

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class BoundedJSONParser(JSONParser):
    """Django's own limit does not hold where a body is read as a stream; its parser dies of depth, and takes 1e400."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002
        parser_context: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:  # Any: as the framework declares it
        """The parsed body, in UTF-8. Raises ParseError or RequestDataTooBig."""
        limit_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit_bytes + 1)
        if len(body) > limit_bytes:
            raise RequestDataTooBig
        try:
            parsed: dict[str, Any] = json.loads(body.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
        except RecursionError as error:
            raise ParseError("JSON parse error - it is nested too deeply") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error
        return parsed


def _finite(digits: str) -> float:
    """Raises ValueError."""
    number = float(digits)
    if not math.isfinite(number):
        message = f"{digits} is no finite number"
        raise ValueError(message)
    return number
