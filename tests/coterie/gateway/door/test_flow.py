"""What is written to a client that has gone."""

import asyncio

from coterie.gateway.door.flow import WatchedTransport
from coterie.gateway.door.limits import Limits


class Gone(asyncio.Transport):
    """As uvloop's transport after the connection has ended: a write raises, where asyncio's does nothing."""

    def is_closing(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        raise RuntimeError("the handler is closed")


def test_an_answer_to_a_client_that_has_gone_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    try:
        WatchedTransport(loop, Gone(), Limits(), lambda: None).write(b"too late")
    finally:
        loop.close()
