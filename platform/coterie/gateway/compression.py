"""Answers of the REST API travel compressed."""

from django.http.request import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedJson(GZipMiddleware):
    """JSON takes a tenth; files are compressed already, and their lengths stay known.

    A random number of bytes is added to each, as Django does, so that lengths do not tell secrets (BREACH).
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress where it is worth it and the client takes it."""
        if response.headers.get("Content-Type") != "application/json":
            return response
        return super().process_response(request, response)
