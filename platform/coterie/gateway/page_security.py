"""What the platform's pages may load: their own files and nothing else."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

PAGES = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
# Swagger's page starts itself with an inline script and styles itself inline.
DOCS = f"{PAGES}; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'"


def console_policy(*, style_nonce: str) -> str:
    """For the console, which adds style elements of its own, and shows pictures that it drew."""
    console = PAGES.replace("img-src 'self' data:", "img-src 'self' data: blob:")
    return f"{console}; style-src 'self' 'nonce-{style_nonce}'"


class ContentSecurityPolicy:
    """Middleware that adds the policy to each response without one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer with the page's policy."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", DOCS if request.path == "/api/docs/" else PAGES)
        return response


class SecureCookies:
    """Middleware: marks the cookies of responses over TLS as Secure."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, each cookie marked."""
        response = self.get_response(request)
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response
