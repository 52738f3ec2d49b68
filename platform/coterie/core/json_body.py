"""The body of a REST request: JSON of bounded size and depth."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class BoundedJSONParser(JSONParser):
    """Django's own limit does not hold where a body is read as a stream, and a deep one ends its parser."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> dict[str, Any]:  # Any: as the framework declares it
        """The parsed body. Raises ParseError or RequestDataTooBig."""
        limit_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit_bytes + 1)
        if len(body) > limit_bytes:
            raise RequestDataTooBig
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - it is nested too deeply") from error
