"""Compresses answers of the REST API."""

from django.http.request import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedJson(GZipMiddleware):
    """JSON shrinks to a tenth; files are compressed already, and keep a known length.

    A random number of bytes is added to each answer, as Django does, so that lengths reveal no secrets (BREACH).
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress where it is worthwhile and the client accepts it."""
        if response.headers.get("Content-Type") != "application/json":
            return response
        return super().process_response(request, response)
