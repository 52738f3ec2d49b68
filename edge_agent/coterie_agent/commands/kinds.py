"""``coterie-agent kinds``: the kinds that other packages bring, and which of them this device loads."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_learning.custom_kinds import sign_off, withdraw
from coterie_learning.plan import offered_kinds


class OfferedKind(msgspec.Struct, frozen=True):
    """A kind of an installed package."""

    kind: str
    """``SLOT.NAME``."""
    package: str
    refused: str = ""
    """Code of the reason why it is not loaded; blank: it is loaded."""
    why: str = ""


class Kinds(msgspec.Struct, frozen=True):
    """All kinds that the device has, as the command prints them."""

    kinds: list[OfferedKind]


def run(arguments: Arguments) -> Output:
    """Raises WireError ``kinds.not_installed`` or ``kinds.not_writable``."""
    if arguments.allow:
        sign_off(arguments.allow)
    if arguments.withdraw:
        withdraw(arguments.withdraw)
    if arguments.allow or arguments.withdraw:
        return Output(Kinds([]), ["an agent that starts from now on heeds it"])
    found = [
        OfferedKind(f"{offer.slot}.{offer.name}", f"{offer.distribution} {offer.version}")
        if offer.refusal is None
        else OfferedKind(
            f"{offer.slot}.{offer.name}",
            f"{offer.distribution} {offer.version}",
            offer.refusal.code,
            offer.refusal.sentence,
        )
        for offer in offered_kinds()
    ]
    return Output(Kinds(found), [_line(kind) for kind in found] or ["no package brings kinds"])


def _line(kind: OfferedKind) -> str:
    state = f"not loaded: {kind.why} [{kind.refused}]" if kind.refused else "loaded"
    return f"{kind.kind} of {kind.package}: {state}"
