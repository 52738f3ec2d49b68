"""What the phone's page and its workers may do in a browser: run WebAssembly and load nothing from other origins."""

from collections.abc import MutableMapping

POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": (
        "screen-wake-lock=(self), idle-detection=(self), accelerometer=(self), gyroscope=(self), camera=(), "
        "microphone=(), geolocation=()"
    ),
    "Referrer-Policy": "no-referrer",
}
ASSETS = "/static/phone/"


def add_phone_headers(headers: MutableMapping[str, str], _path: str, url: str) -> None:
    """Add headers to the phone's static files: a worker applies those of its own script, not those of its page."""
    if url.startswith(ASSETS):
        for name, value in HEADERS.items():
            headers[name] = value
