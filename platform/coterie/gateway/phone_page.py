"""The phone's page at ``/phone/``, with its service worker and web manifest, which must lie below it."""

from functools import cache
from pathlib import Path
from types import MappingProxyType

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from coterie.gateway.phone_headers import HEADERS

FILES = MappingProxyType(
    {
        "": ("index.html", "text/html; charset=utf-8"),
        "sw.js": ("sw.js", "text/javascript; charset=utf-8"),
        "manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
    }
)
"""The built file and its type, by the path below ``/phone/``."""


@require_safe
@never_cache
def phone(_request: HttpRequest, name: str = "") -> HttpResponse:
    """One of `FILES`; public, as a token decides who may join. Raises Http404 where none is built."""
    file, content_type = FILES[name]
    content = _read(settings.PHONE_PAGE.with_name(file))
    if content is None:
        raise Http404
    return HttpResponse(content, content_type=content_type, headers=dict(HEADERS))


@cache
def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
