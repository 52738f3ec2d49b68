"""Counts and times HTTP requests, and adds a request's ID to its answer and its log lines."""

import re
import secrets
import time
from contextlib import AbstractContextManager

from coterie.core.log_context import logging_about
from coterie.core.metrics import DEVICE_REQUEST_SECONDS, DEVICE_REQUESTS, SITE_REQUEST_SECONDS, SITE_REQUESTS
from coterie.core.tracing import Span, is_traced, span
from coterie.gateway.door.body import Event, Receive
from coterie.gateway.http import Application, Scope, Send
from coterie_wire.messages import EXCHANGES

ROUTES = EXCHANGES.keys() | {"blobs", "uploads", "portions"}
"""Of devices: the first part below the root of their API."""
API_RESOURCE = re.compile(r"/api/[a-z-]{1,40}/")
"""The part of a REST API address that identifies no row."""
GONE = "gone"
"""In place of the status of an answer that never began: the client has disconnected."""


def watching(application: Application, *, device_root: str) -> Application:
    """`application`, watched; requests below `device_root` are those of devices."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        began_s, status, request_id = time.monotonic(), GONE, secrets.token_hex(8)

        async def send_named(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = str(event["status"])
                event = {**event, "headers": [*event.get("headers", ()), (b"x-request-id", request_id.encode())]}
            await send(event)

        try:
            with _traced(scope, device_root, request_id) as traced, logging_about(request_id=request_id):
                await application(scope, receive, send_named)
                traced.set_attribute("http.response.status_code", int(status) if status != GONE else 499)
        finally:
            _count(scope["path"], device_root, status, time.monotonic() - began_s)

    return watched


def _traced(scope: Scope, device_root: str, request_id: str) -> AbstractContextManager[Span]:
    """The request as a span, a child of the client's span where it names one."""
    if not is_traced():
        return span("")
    method, path = str(scope["method"]), str(scope["path"])
    resource = API_RESOURCE.match(path)
    route = f"{device_root}{_device_route(path, device_root)}" if path.startswith(device_root) else "site"
    route = resource[0] if resource is not None else route
    parent = dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1")
    attributes = {"http.request.method": method, "http.route": route, "request_id": request_id}
    return span(f"{method} {route}", kind="server", parent=parent, **attributes)


def _device_route(path: str, device_root: str) -> str:
    first = path.removeprefix(device_root).partition("/")[0]
    return first if first in ROUTES else "unknown"


def _count(path: str, device_root: str, status: str, took_s: float) -> None:
    if path.startswith(device_root):
        route = _device_route(path, device_root)
        DEVICE_REQUESTS.labels(route, status).inc()
        DEVICE_REQUEST_SECONDS.labels(route).observe(took_s)
    else:
        SITE_REQUESTS.labels(status).inc()
        SITE_REQUEST_SECONDS.observe(took_s)
