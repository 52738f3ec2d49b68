"""What goes wrong on a device: a stable code, a sentence that says what to do, and an exit code."""

from enum import IntEnum

from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError


class Exit(IntEnum):
    """Exit codes of ``coterie-agent``; each has its sentence in `MEANINGS`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_JOINED = 3
    ALREADY_JOINED = 4
    BAD_CONFIG = 5
    ALREADY_RUNNING = 6
    UNREACHABLE = 7
    REFUSED = 8
    REVOKED = 9
    BAD_DATA = 10
    NO_MODEL = 11
    STORE_DAMAGED = 12


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.FAILED: "something unexpected; the log says what",
    Exit.USAGE: "the command line was wrong",
    Exit.NOT_JOINED: "this device has not joined a platform",
    Exit.ALREADY_JOINED: "this device has joined a platform already",
    Exit.BAD_CONFIG: "agent.toml was refused",
    Exit.ALREADY_RUNNING: "another agent runs on the same home",
    Exit.UNREACHABLE: "the platform did not answer",
    Exit.REFUSED: "the platform refused the request",
    Exit.REVOKED: "the platform ended this device's credential; its data is kept",
    Exit.BAD_DATA: "the data file was refused, and nothing of it was stored",
    Exit.NO_MODEL: "the device holds no model yet",
    Exit.STORE_DAMAGED: "the store is damaged: move it away, join again, and ingest the samples anew",
}


STORE_FULL = "store.full"
"""Code of the error that the device's disk has no room; it passes once the owner has made some."""


class AgentError(Exception):
    """An error that its reader can act on: `code` is stable, `detail` states what was found and what to do."""

    def __init__(self, code: str, detail: str, *, exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.exit_code = exit_code


def reason_of(error: AgentError | WireError) -> Reason:
    """The text of `error` for the platform and the owner, cut to the longest that a message may hold."""
    return Reason(code=error.code[:64], sentence=error.detail[:400])
