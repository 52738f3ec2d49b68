"""``coterie-agent why``: what keeps the device from training now, in the words that the platform's console shows."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import read_report
from coterie_agent.report import why_lines
from coterie_wire.conditions import Reason


class Waits(msgspec.Struct, frozen=True):
    waits: tuple[Reason, ...]


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``."""
    report = read_report(arguments.home)
    return Output(Waits(report.waits), why_lines(report))
