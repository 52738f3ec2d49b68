"""``coterie-agent page``: the address of the owner's page, with a link for his phone; after forget, the receipt's."""

import sys
import threading
import time
from datetime import date
from typing import NoReturn

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.commands.until_stopped import stop_on_signal
from coterie_agent.config import Config, load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.forgetting import Forgetter, load_receipt
from coterie_agent.home import Home, is_running
from coterie_agent.loopback import Address
from coterie_agent.network_page.link import OFF_NETWORK, PageLink, offer_link
from coterie_agent.network_page.thread import PageStatus
from coterie_agent.receipt_page import ReceiptServer
from coterie_agent.store.opened import Store
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json


class OwnersPage(msgspec.Struct, frozen=True):
    url: str
    """With the token, which gives full access to the page; blank: this device serves no page to its own browsers."""
    on_network: str = ""
    """The link by which a phone opens it, once and within an hour; blank: it is not on the network."""
    fingerprint: str = ""
    """SHA-256 of the certificate that it shows there."""
    phones: int = 0
    """Number of phones signed in."""
    problem: str = ""
    """Why it is not on the network although the settings ask for it."""


class SignedOut(msgspec.Struct, frozen=True):
    phones: int
    """Number of phones that were signed in."""


def run(arguments: Arguments) -> Output:
    """Print the page's address; for a forgotten device, serve the receipt's page until this process is stopped.

    Raises AgentError ``agent.not_joined`` or ``agent.no_page``; ``local_api.port_taken`` or ``config.invalid``.
    """
    home = Home(arguments.home)
    with reading_store(arguments.home) as store:
        if arguments.sign_out:
            return _sign_out(store)
        if store.identity.find() is None and load_receipt(home) is not None:
            _serve_receipt(home, store, as_json=arguments.json)
        store.identity.get()
        config = load_config(home.config)
        url = _own_url(home, config)
        if not config.page.on_network:
            return Output(OwnersPage(url), [*_url_lines(url), OFF_NETWORK])
        return _with_link(home, store, url)


def _own_url(home: Home, config: Config) -> str:
    if not is_running(home):
        raise AgentError("agent.no_page", "the agent does not run; start it with: coterie-agent run")
    try:
        address = from_json(home.local_api.read_bytes(), Address)
    except (OSError, *UNREADABLE) as error:
        if config.page.on_network:
            return ""
        detail = "the page is there while the agent runs and agent.toml lets it serve the local API"
        raise AgentError("agent.no_page", f"{detail}; start it with: coterie-agent run") from error
    return f"{address.url}/#{address.token}"


def _with_link(home: Home, store: Store, url: str) -> Output:
    now = time.time()
    phones = store.phones.count(now=now)
    try:
        status = from_json(home.network_page.read_bytes(), PageStatus)
    except (OSError, *UNREADABLE):
        status = PageStatus(detail="the agent has not opened it yet; if agent.toml was changed, start the agent again")
    if not status.authority:
        problem = f"{status.detail} [{status.code}]" if status.code else status.detail
        page = OwnersPage(url, phones=phones, problem=problem)
        return Output(page, [*_url_lines(url), f"it is not on the network: {problem}"])
    link = offer_link(store.phones, status.authority, status.fingerprint, now=now)
    page = OwnersPage(url, link.url, link.fingerprint, phones)
    return Output(page, [*_url_lines(url), *_link_lines(link, phones)])


def _link_lines(link: PageLink, phones: int) -> list[str]:
    known = [f"phones that are let in: {phones}; to let in none of them any more: coterie-agent page --sign-out"]
    return [*link.lines(coloured=sys.stdout.isatty()), *(known if phones else [])]


def _sign_out(store: Store) -> Output:
    phones = store.phones.count(now=time.time())
    store.phones.sign_out()
    return Output(SignedOut(phones), [f"signed out: {phones}; a link that was not opened yet is good no longer"])


def _url_lines(url: str) -> list[str]:
    if not url:
        return []
    port = url.rpartition("/")[0].rpartition(":")[2]
    return [url, f"from another machine, first: ssh -L {port}:127.0.0.1:{port} USER@THIS-MACHINE"]


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
    lines = [*_url_lines(server.url), "Ctrl-C ends it."]
    text = msgspec.json.encode(OwnersPage(server.url)).decode() if as_json else "\n".join(lines)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    stopped.wait()
    server.stop()
    server.close()
    sys.exit(Exit.OK)
