"""The socket's frames without a socket: text in, frames out, text to send."""

from typing import NamedTuple, TypeAlias

import msgspec

from coterie_wire.errors import WireError
from coterie_wire.messages import PlatformFrame, Request, decode_platform_frame


class Broken(NamedTuple):
    """The other side violates the protocol; the connection must be closed."""

    detail: str


Event: TypeAlias = PlatformFrame | Broken


class Conversation:
    """Numbers requests and reads what comes back. Receiving never raises."""

    def __init__(self) -> None:
        self._next_id = 1

    def request(self, name: str, body: bytes) -> tuple[int, str]:
        """The number and the text of a request frame for exchange `name` with JSON `body`."""
        id_, self._next_id = self._next_id, self._next_id + 1
        return id_, msgspec.json.encode(Request(id=id_, name=name, body=msgspec.Raw(body))).decode()

    def receive(self, text: str | bytes) -> Event:
        try:
            return decode_platform_frame(text.encode() if isinstance(text, str) else text)
        except WireError as error:
            return Broken(error.detail)
