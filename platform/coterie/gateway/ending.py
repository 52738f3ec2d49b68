"""The end of a process: it takes no new socket, reports that it is not ready, and closes its sockets gradually."""

import asyncio
from collections.abc import Callable

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.connected import connected_devices

CONNECTS_PER_SECOND = 500.0
"""Rate at which sockets move to the other processes; one process opens some 1,900 a second."""
LONGEST_S = 30.0
"""However many sockets there are."""
STEP_S = 0.1


class ProcessEnding(CoterieError):
    """Fields: wait_s."""

    code = "gateway.ending"
    kind = ErrorKind.UNAVAILABLE
    sentence = "This process of the platform is being restarted and takes no new socket; try again in {wait_s} s."


class Ending:
    """Whether this process is about to end, and takes no further work."""

    def __init__(self) -> None:
        self.has_begun = False

    def check(self) -> None:
        """Raises ProcessEnding once it has begun."""
        if self.has_begun:
            raise ProcessEnding(wait_s=5)

    async def close_sockets(self, *, is_hurried: Callable[[], bool]) -> None:
        """Begin, and have devices connect again, spread over time; all at once when `is_hurried`."""
        self.has_begun = True
        connected = connected_devices()
        waiting = connected.begin_to_close(per_second=CONNECTS_PER_SECOND)
        steps = max(1.0, min(LONGEST_S, len(waiting) / CONNECTS_PER_SECOND) / STEP_S)
        at_once = int(len(waiting) / steps) + 1
        for first in range(0, len(waiting), at_once):
            for inbox in waiting[first : first + at_once]:
                connected.close(inbox)
            if not is_hurried():
                await asyncio.sleep(STEP_S)


ENDING = Ending()
