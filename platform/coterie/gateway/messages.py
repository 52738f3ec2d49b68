"""Control messages: each handler of an app, reached both by URL and by socket."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any

import msgspec
from django.utils import timezone

from coterie.agent_rollouts import device_api as agent_rollouts
from coterie.alliances import device_api as alliances
from coterie.cloud_answers import device_api as cloud_answers
from coterie.core.errors import CoterieError, ErrorKind
from coterie.device_logs import device_api as device_logs
from coterie.federations import device_api as federations
from coterie.fleet import device_api as fleet
from coterie.fleet.credentials import activate_shown
from coterie.fleet.handler import Handler, SlowHandler
from coterie.fleet.models import Device
from coterie.fleet.selectors import Shown, device_of, device_of_credential, devices_that_show
from coterie.fleet_evaluation import device_api as fleet_evaluation
from coterie.gateway.batching import Answer, BatchedMessage, batches
from coterie.gateway.door.limits import LIMITS
from coterie.gateway.http import Request, Send, reply
from coterie.gateway.threads import in_anonymous_thread, in_thread
from coterie.owners import device_api as owners
from coterie.rollouts import device_api as rollouts
from coterie.rounds import device_api as rounds
from coterie.rounds.directives import Call
from coterie.transfer import device_api as transfer
from coterie_wire.errors import WireError
from coterie_wire.message import Message
from coterie_wire.messages import EXCHANGES, MAX_MESSAGE_BYTES, decode

WITHOUT_CREDENTIAL: Mapping[str, Callable[[Any, str, datetime], Message]] = {
    "enrol": fleet.enrol,
    "read-invitation": federations.read_invitation,
    "read-receipt": owners.read_receipt,
}
"""The apps' answers to messages that need no credential, by name; the second argument is the credential that the device
shows all the same, as it has drawn it and is about to join; blank: none."""
HANDLERS: Mapping[str, Handler] = {
    **fleet.HANDLERS,
    **rounds.HANDLERS,
    **transfer.HANDLERS,
    **rollouts.HANDLERS,
    **owners.HANDLERS,
    **fleet_evaluation.HANDLERS,
    **alliances.HANDLERS,
    **agent_rollouts.HANDLERS,
    **device_logs.HANDLERS,
}
"""The apps' answers by name of the message; those of `WITHOUT_CREDENTIAL`, `SLOW` and `BATCHED` are separate."""
SLOW: Mapping[str, SlowHandler] = cloud_answers.SLOW_HANDLERS
"""Handlers that are awaited, so that no thread of the gateway waits."""
UNCERTIFIED = frozenset({"ask-certificate"})
"""Messages of a device whose certificate is missing or has expired; the message itself proves the sender."""


class UnknownMessage(CoterieError):
    """The protocol has no such message."""

    code = "gateway.unknown_message"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no message {name!r}."


async def answer_request(name: str, request: Request, send: Send) -> None:
    """``POST /device/v1/NAME``."""
    body = await request.body(limit_bytes=LIMITS.body_bytes if name in WITHOUT_CREDENTIAL else MAX_MESSAGE_BYTES)
    if name in WITHOUT_CREDENTIAL:
        drawn = request.drawn_credential()
        await reply(send, await in_anonymous_thread(lambda: _answer_without_credential(name, body, drawn)))
    else:
        await reply(send, await answer(name, body, request.shown()))


async def answer(name: str, body: bytes, shown: Shown, *, by_socket: bool = False) -> bytes:
    """The reply's JSON to the message `name` from the device that `shown` authenticates, which may hold a socket.

    The device is looked up each time, so that a revoked one is refused at once. Raises CoterieError or WireError.
    """
    if name in BATCHED:
        return await batches(BATCHED[name]).ask(BatchedMessage(shown.credential, body, by_socket, shown.certificate))
    if name in SLOW:
        begun = await in_thread(lambda: _begin(name, body, shown))
        return msgspec.json.encode(await asyncio.wrap_future(begun))
    return await in_thread(lambda: _answer_alone(name, body, shown))


def _begin(name: str, body: bytes, shown: Shown) -> "Future[Any]":
    return SLOW[name](device_of(shown), _decoded(name, body), timezone.now())


def _answer_alone(name: str, body: bytes, shown: Shown) -> bytes:
    device = device_of_credential(shown.credential) if name in UNCERTIFIED else device_of(shown)
    handler = HANDLERS.get(name)
    if handler is None:
        raise UnknownMessage(name=name)
    return msgspec.json.encode(handler(device, _decoded(name, body), timezone.now()))


def _answer_check_ins(asked: Sequence[BatchedMessage]) -> Sequence[bytes | Exception]:
    """The directives for several devices; an error in one message, or in its answer, does not affect the others."""
    shown = [Shown(one.credential, one.certificate) for one in asked]
    devices = devices_that_show(shown)
    outcomes: list[Call | Exception] = [_call(devices[own], one) for own, one in zip(shown, asked, strict=True)]
    calls = [outcome for outcome in outcomes if isinstance(outcome, Call)]
    try:
        directives = iter(rounds.check_in_all(calls, timezone.now()) if calls else ())
    except Exception as error:  # noqa: BLE001 - below, each is tried alone
        if len(asked) == 1:
            return [error]
        return [answered for one in asked for answered in _answer_check_ins([one])]
    return [msgspec.json.encode(next(directives)) if isinstance(outcome, Call) else outcome for outcome in outcomes]


def _call(device: Device | CoterieError, asked: BatchedMessage) -> Call | Exception:
    if isinstance(device, CoterieError):
        return device
    try:
        activate_shown(device=device, credential=asked.credential, now=timezone.now())
        return Call(device, _decoded("check-in", asked.body), asked.by_socket)
    except WireError as error:
        return error


BATCHED: Mapping[str, Answer] = {"check-in": _answer_check_ins}
"""Messages that all devices send all the time."""


def _answer_without_credential(name: str, body: bytes, drawn: str) -> bytes:
    return msgspec.json.encode(WITHOUT_CREDENTIAL[name](_decoded(name, body), drawn, timezone.now()))


def _decoded(name: str, body: bytes) -> Any:  # noqa: ANN401 - of the exchange's own type
    _check_zero_bytes(body)
    return decode(EXCHANGES[name].request, body)


def _check_zero_bytes(body: bytes) -> None:
    """PostgreSQL stores no zero byte in a text. Raises WireError."""
    if b"\\u0000" in body:
        raise WireError("wire.malformed", "a text holds a zero byte, which cannot be kept")
