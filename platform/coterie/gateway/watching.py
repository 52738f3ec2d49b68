"""Counts and times HTTP requests, and names each in its answer and in the log lines that it causes."""

import secrets
import time

from coterie.core.log_context import logging_about
from coterie.core.metrics import DEVICE_REQUEST_SECONDS, DEVICE_REQUESTS, SITE_REQUEST_SECONDS, SITE_REQUESTS
from coterie.gateway.door.body import Event, Receive
from coterie.gateway.http import Application, Scope, Send
from coterie_wire.messages import EXCHANGES

ROUTES = EXCHANGES.keys() | {"blobs", "uploads", "portions"}
"""Of devices: what stands first behind the root of their API."""
GONE = "gone"
"""Instead of the status of an answer that never began: the client has gone."""


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
            with logging_about(request_id=request_id):
                await application(scope, receive, send_named)
        finally:
            _count(scope["path"], device_root, status, time.monotonic() - began_s)

    return watched


def _count(path: str, device_root: str, status: str, took_s: float) -> None:
    if path.startswith(device_root):
        first = path.removeprefix(device_root).partition("/")[0]
        route = first if first in ROUTES else "unknown"
        DEVICE_REQUESTS.labels(route, status).inc()
        DEVICE_REQUEST_SECONDS.labels(route).observe(took_s)
    else:
        SITE_REQUESTS.labels(status).inc()
        SITE_REQUEST_SECONDS.observe(took_s)
