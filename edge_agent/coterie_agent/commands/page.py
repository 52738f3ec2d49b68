"""``coterie-agent page``: the address of the owner's page; of a device that was forgotten, the page of its receipt."""

import sys
import threading
from datetime import date
from typing import NoReturn

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.commands.until_stopped import stop_on_signal
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.forgetting import Forgetter, kept_receipt
from coterie_agent.home import Home, is_running
from coterie_agent.loopback import Address
from coterie_agent.receipt_page import ReceiptServer
from coterie_agent.store.opened import Store
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json


class OwnersPage(msgspec.Struct, frozen=True):
    url: str
    """With the token, which lets whoever has it see and change all that the owner can."""


def run(arguments: Arguments) -> Output:
    """Of a device that was forgotten nothing runs: the page is served until this process is stopped.

    Raises AgentError ``agent.not_joined`` or ``agent.no_page``; ``local_api.port_taken`` or ``config.invalid``.
    """
    home = Home(arguments.home)
    with reading_store(arguments.home) as store:
        if store.identity.find() is None and kept_receipt(home) is not None:
            _serve_receipt(home, store, as_json=arguments.json)
        store.identity.get()
    try:
        address = from_json(home.local_api.read_bytes(), Address)
    except (OSError, *UNREADABLE) as error:
        detail = "the page is there while the agent runs and agent.toml lets it serve the local API"
        raise AgentError("agent.no_page", f"{detail}; start it with: coterie-agent run") from error
    if not is_running(home):
        raise AgentError("agent.no_page", "the agent does not run; start it with: coterie-agent run")
    return _output(f"{address.url}/#{address.token}")


def _output(url: str) -> Output:
    port = url.rpartition("/")[0].rpartition(":")[2]
    return Output(
        OwnersPage(url),
        [url, f"from another machine, first: ssh -L {port}:127.0.0.1:{port} USER@THIS-MACHINE"],
    )


def _serve_receipt(home: Home, store: Store, *, as_json: bool) -> NoReturn:
    config = load_config(home.config)
    forgetter = Forgetter(
        home=home,
        store=store,
        ca_file=config.ca_file,
        record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
    )
    stopped = threading.Event()
    stop_on_signal(stopped.set)
    server = ReceiptServer(forgetter.read, port=config.local_api_port)
    threading.Thread(target=server.run, name="receipt-page", daemon=True).start()
    told = _output(server.url)
    text = msgspec.json.encode(told.json).decode() if as_json else "\n".join([*told.lines, "Ctrl-C ends it."])
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    stopped.wait()
    server.stop()
    server.close()
    sys.exit(Exit.OK)
