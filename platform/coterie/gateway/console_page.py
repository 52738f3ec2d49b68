"""The console's page: one file per language for all addresses, with a nonce for the styles that it creates at
runtime.
"""

import secrets
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from coterie.gateway.page_security import console_policy

NONCE = "__CSP_NONCE__"
"""The placeholder that the build writes, replaced by each page's own nonce."""

SECTIONS = (
    "agents",
    "alerts",
    "alliances",
    "analytics",
    "audit",
    "cluster",
    "devices",
    "enrol",
    "federations",
    "glossary",
    "help",
    "jobs",
    "models",
    "parts",
    "settings",
    "simulations",
    "start",
)
"""First parts of the console's addresses; a test compares them with its routes."""


def is_built() -> bool:
    """Whether `make console` has built it."""
    return _read(settings.CONSOLE_PAGE) is not None


@require_safe
@never_cache
@login_required
@ensure_csrf_cookie
def console(_request: HttpRequest) -> HttpResponse:
    """The page, which chooses its content by its own address. Raises Http404 where it has not been built."""
    page = _page(get_language())
    if page is None:
        raise Http404
    nonce = secrets.token_urlsafe(16)
    return HttpResponse(
        page.replace(NONCE, nonce), headers={"Content-Security-Policy": console_policy(style_nonce=nonce)}
    )


def _page(language: str) -> str | None:
    """The page in a language; in English where it is not built in that language."""
    english = settings.CONSOLE_PAGE
    return _read(english.parent / language / english.name) or _read(english)


@cache
def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
