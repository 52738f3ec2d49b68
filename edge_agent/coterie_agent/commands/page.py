"""``coterie-agent page``: the address of the owner's page, while the agent runs."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.errors import AgentError
from coterie_agent.home import Home, is_running
from coterie_agent.loopback import Address
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json


class OwnersPage(msgspec.Struct, frozen=True):
    url: str
    """With the token, which lets whoever has it see and change all that the owner can."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined`` or ``agent.no_page``."""
    home = Home(arguments.home)
    with reading_store(arguments.home) as store:
        store.identity.get()
    try:
        address = from_json(home.local_api.read_bytes(), Address)
    except (OSError, *UNREADABLE) as error:
        detail = "the page is there while the agent runs and agent.toml lets it serve the local API"
        raise AgentError("agent.no_page", f"{detail}; start it with: coterie-agent run") from error
    if not is_running(home):
        raise AgentError("agent.no_page", "the agent does not run; start it with: coterie-agent run")
    url = f"{address.url}/#{address.token}"
    port = address.url.rpartition(":")[2]
    return Output(
        OwnersPage(url),
        [url, f"from another machine, first: ssh -L {port}:127.0.0.1:{port} USER@THIS-MACHINE"],
    )
