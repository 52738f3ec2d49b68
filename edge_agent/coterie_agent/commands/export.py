"""``coterie-agent export``: all data about this device, here and on the platform, as one JSON document."""

from datetime import date

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.exporting import export_device
from coterie_agent.home import Home
from coterie_agent.link.http import HttpLink


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``agent.no_credential``, Unreachable or Refused."""
    home = Home(arguments.home)
    config = load_config(home.config)
    with reading_store(arguments.home) as store:
        identity = store.identity.get()
        link = None
        if not arguments.offline:
            link = HttpLink(
                identity.url,
                credential=store.identity.credential(),
                record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
                ca_file=config.ca_file,
                certificate=home.certificate,
            )
        found = export_device(home, store, config, link=link)
    return Output(found, msgspec.json.format(msgspec.json.encode(found), indent=2).decode().splitlines())
