"""``coterie-agent identities``: the log of identities used by secure sums, as far as this device has read it."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_learning.secure_sum.identities import EMPTY


class LoggedIdentity(msgspec.Struct, frozen=True):
    """One entry of the log of device identities."""

    device: str
    identity: str
    """Ed25519 public key, in hexadecimal."""


class Identities(msgspec.Struct, frozen=True):
    """The log of device identities, as the command prints it."""

    length: int
    head: str
    """Hash of the log, in hexadecimal; the same on every device that has read as many entries."""
    entries: list[LoggedIdentity]


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``."""
    with reading_store(arguments.home) as store:
        log = store.identity_log.entries()
    head = log[-1].head if log else EMPTY
    found = Identities(len(log), head.hex(), [LoggedIdentity(one.device, one.identity.hex()) for one in log])
    if not log:
        return Output(found, ["this device has read no identities; it does when it takes part in a secure sum"])
    lines = [f"{place:>6}  {one.device}  {one.identity}" for place, one in enumerate(found.entries, start=1)]
    return Output(found, [*lines, f"{found.length} identities, head {found.head}"])
