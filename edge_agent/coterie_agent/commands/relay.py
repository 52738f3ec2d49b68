"""``coterie-agent relay``: run, and serve the neighbours as a supernode while it runs."""

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.run import run_agent


def run(arguments: Arguments) -> Output:
    """Ends the process itself, and raises what ``run`` raises."""
    return run_agent(arguments, serve=True)
