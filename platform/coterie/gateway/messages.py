"""Control messages: each handler of an app, reached by URL and by socket alike."""

from collections.abc import Mapping

import msgspec
from django.utils import timezone

from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet import device_api as fleet
from coterie.fleet.handler import Handler
from coterie.fleet.selectors import device_of_credential
from coterie.gateway.http import Request, Send, bearer, reply
from coterie.gateway.threads import in_thread
from coterie.rollouts import device_api as rollouts
from coterie.rounds import device_api as rounds
from coterie.transfer import device_api as transfer
from coterie_wire.errors import WireError
from coterie_wire.messages import EXCHANGES, MAX_MESSAGE_BYTES, Enrol, decode

ENROL = "enrol"
HANDLERS: Mapping[str, Handler] = {**fleet.HANDLERS, **rounds.HANDLERS, **transfer.HANDLERS, **rollouts.HANDLERS}
"""Every app's answers by name of the message; `ENROL`, which comes without a credential, is apart."""


class UnknownMessage(CoterieError):
    """The protocol has no such message."""

    code = "gateway.unknown_message"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no message {name!r}."


async def answer_request(name: str, request: Request, send: Send) -> None:
    """``POST /device/v1/NAME``."""
    body = await request.body(limit_bytes=MAX_MESSAGE_BYTES)
    authorization = request.header("authorization")
    await reply(send, await in_thread(lambda: _answer_over_http(name, body, authorization)))


def answer(name: str, body: bytes | msgspec.Raw, credential: str) -> bytes:
    """The reply's JSON to the message `name` from the device of `credential`.

    The device is looked up each time, so that a revoked one is refused at once. Raises CoterieError or WireError.
    """
    device = device_of_credential(credential)
    handler = HANDLERS.get(name)
    if handler is None:
        raise UnknownMessage(name=name)
    _check_zero_bytes(body)
    return msgspec.json.encode(handler(device, decode(EXCHANGES[name].request, body), timezone.now()))


def _answer_over_http(name: str, body: bytes, authorization: str | None) -> bytes:
    if name == ENROL:
        _check_zero_bytes(body)
        return msgspec.json.encode(fleet.enrol(decode(Enrol, body), timezone.now()))
    return answer(name, body, bearer(authorization))


def _check_zero_bytes(body: bytes | msgspec.Raw) -> None:
    """PostgreSQL keeps no zero byte in a text. Raises WireError."""
    if b"\\u0000" in bytes(body):
        raise WireError("wire.malformed", "a text holds a zero byte, which cannot be kept")
