"""Opens the store for commands that need only stored data of the agent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.report import Report, make_report
from coterie_agent.store.opened import Store, open_store


def read_report(root: Path) -> Report:
    """Raises AgentError ``agent.not_joined``, also where there is no home directory, which is not created."""
    with reading_store(root) as store:
        return make_report(Home(root), store)


@contextmanager
def reading_store(root: Path) -> Iterator[Store]:
    """Raises AgentError ``agent.not_joined`` where there is no home directory, which is not created."""
    home = Home(root)
    if not home.database.exists():
        detail = f"no agent lives in {root}; run: coterie-agent join URL TOKEN"
        raise AgentError("agent.not_joined", detail, exit_code=Exit.NOT_JOINED)
    with open_store(home) as store:
        yield store
