"""The device API as raw ASGI in front of Django: bodies stream, and thousands of sockets stay cheap."""

from collections.abc import Awaitable, Callable, Mapping

from coterie.gateway.blobs import send_blob, send_portion
from coterie.gateway.console.socket import PATH, serve_console
from coterie.gateway.device_socket import deny, serve_socket
from coterie.gateway.door.body import Event, Receive
from coterie.gateway.door.certificates import CERTIFICATE, certificate_of
from coterie.gateway.door.devices import GATE
from coterie.gateway.door.proxies import Proxies
from coterie.gateway.door.refusal_costs import RefusalCosts
from coterie.gateway.door.requester import Requester, current_requester, requesting
from coterie.gateway.http import (
    Application,
    Disconnected,
    Request,
    Scope,
    Send,
    UnknownAddress,
    client_address,
    reply_with_problem,
)
from coterie.gateway.messages import WITHOUT_CREDENTIAL, answer_request
from coterie.gateway.outage import check_database
from coterie.gateway.releases import send_release_file
from coterie.gateway.uploads import PARTIALS, PORTIONS, UPDATES, receive_upload
from coterie.gateway.watching import watching

ROOT = "/device/v1/"
PATHS_WITHOUT_CREDENTIAL = frozenset(ROOT + name for name in WITHOUT_CREDENTIAL)
ANSWERS = frozenset({"http.response.start", "websocket.http.response.start"})
SOCKETS: Mapping[str, Application] = {f"{ROOT}socket": serve_socket, PATH: serve_console}


def in_front_of(
    site: Application, proxies: Proxies | None = None, refusal_costs: RefusalCosts | None = None
) -> Application:
    """The device API at its addresses, and `site` at all others; trusted `proxies` state where a request comes from.

    The cost of requests that it refuses is charged to their senders, in `refusal_costs`.
    """
    trusted = Proxies() if proxies is None else proxies
    owed = RefusalCosts() if refusal_costs is None else refusal_costs

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        _set_origin(scope, trusted)
        requester = Requester(owed, client_address(scope))

        async def send_on(event: Event) -> None:
            if event["type"] in ANSWERS:
                requester.record_answer(event["status"])
            await send(event)

        with requesting(requester):
            await answer(scope, receive, send_on)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await SOCKETS.get(scope["path"], _no_socket)(scope, receive, send)
        elif scope["path"].startswith(ROOT):
            await _answer(Request(scope, receive), send)
        else:
            await site(scope, receive, send)

    return watching(application, device_root=ROOT)


def _set_origin(scope: Scope, proxies: Proxies) -> None:
    """Set the client's address, and its certificate, to those that a trusted proxy names."""
    client = scope.get("client")
    if client is None:
        return
    headers = dict(scope["headers"])
    scope[CERTIFICATE] = certificate_of(client[0], scope.get(CERTIFICATE, ""), headers, proxies)
    secure = {"http": "http", "ws": "http", "https": "https", "wss": "https"}[scope["scheme"]]
    origin = proxies.origin(client[0], secure, headers)
    scope["client"] = (origin.address, client[1] if origin.address == client[0] else 0)
    scope["scheme"] = origin.scheme if scope["type"] == "http" else origin.scheme.replace("http", "ws")


async def _answer(request: Request, send: Send) -> None:
    try:
        check_database()
        await _dispatch(request, send)
    except Disconnected:
        return
    except Exception as error:  # noqa: BLE001 - the outermost loop: every error is rendered, the unforeseen ones logged
        await reply_with_problem(send, error)


async def _dispatch(request: Request, send: Send) -> None:
    answer = _answerer(request, send)
    if answer is None:
        raise UnknownAddress(method=request.method, path=request.path)
    if request.path in PATHS_WITHOUT_CREDENTIAL:
        current_requester().check()
        with GATE.guessing(request.address):
            await answer()
    else:
        async with GATE.admitted(request.shown(), request.address, body_bytes=request.body_bytes):
            await answer()


def _answerer(request: Request, send: Send) -> Callable[[], Awaitable[None]] | None:
    """The function that answers at the request's address, or None."""
    match request.method, request.path.removeprefix(ROOT).split("/"):
        case "POST", [name]:
            return lambda: answer_request(name, request, send)
        case "GET" | "HEAD", ["blobs", sha256]:
            return lambda: send_blob(sha256, request, send)
        case "PATCH", ["uploads", assignment]:
            return lambda: receive_upload(UPDATES, assignment, request, send)
        case "GET" | "HEAD", ["releases", part, name]:
            return lambda: send_release_file(part, name, request, send)
        case "GET" | "HEAD", ["portions", transfer]:
            return lambda: send_portion(transfer, request, send)
        case "PATCH", ["portions", transfer]:
            return lambda: receive_upload(PORTIONS, transfer, request, send)
        case "PATCH", ["partials", fold]:
            return lambda: receive_upload(PARTIALS, fold, request, send)
    return None


async def _no_socket(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()  # websocket.connect
    await deny(scope, send, UnknownAddress(method="a socket at", path=scope["path"]))
