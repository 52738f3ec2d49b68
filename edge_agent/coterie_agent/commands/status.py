"""``coterie-agent status``: what the device is, holds, does, and has sent."""

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import read_report
from coterie_agent.report import status_lines


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``."""
    report = read_report(arguments.home)
    return Output(report, status_lines(report))
