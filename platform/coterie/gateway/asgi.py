"""The device API as raw ASGI in front of Django: bodies stream, and thousands of sockets stay cheap."""

from collections.abc import Mapping

from coterie.gateway.blobs import send_blob, send_portion
from coterie.gateway.console.socket import PATH, serve_console
from coterie.gateway.device_socket import serve_socket
from coterie.gateway.http import (
    Application,
    Disconnected,
    Receive,
    Request,
    Scope,
    Send,
    UnknownAddress,
    reply_with_problem,
)
from coterie.gateway.messages import answer_request
from coterie.gateway.uploads import PORTIONS, UPDATES, receive_upload

ROOT = "/device/v1/"
SOCKETS: Mapping[str, Application] = {f"{ROOT}socket": serve_socket, PATH: serve_console}


def in_front_of(site: Application) -> Application:
    """The device API where it answers, and `site` everywhere else."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await SOCKETS.get(scope["path"], _close)(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(ROOT):
            await _answer(Request(scope, receive), send)
        else:
            await site(scope, receive, send)

    return application


async def _answer(request: Request, send: Send) -> None:
    try:
        await _dispatch(request, send)
    except Disconnected:
        return
    except Exception as error:  # noqa: BLE001 - the outermost loop: every error is rendered, the unforeseen ones logged
        await reply_with_problem(send, error)


async def _dispatch(request: Request, send: Send) -> None:
    match request.method, request.path.removeprefix(ROOT).split("/"):
        case "POST", [name]:
            await answer_request(name, request, send)
        case "GET" | "HEAD", ["blobs", sha256]:
            await send_blob(sha256, request, send)
        case "PATCH", ["uploads", assignment]:
            await receive_upload(UPDATES, assignment, request, send)
        case "GET" | "HEAD", ["portions", transfer]:
            await send_portion(transfer, request, send)
        case "PATCH", ["portions", transfer]:
            await receive_upload(PORTIONS, transfer, request, send)
        case _:
            raise UnknownAddress(method=request.method, path=request.path)


async def _close(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 1008, "reason": UnknownAddress.code})
