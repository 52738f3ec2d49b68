"""``coterie-agent join URL TOKEN``, or a phone's link: enrol this device and pin the platform's key."""

import socket
import sys
import time
from datetime import date
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from coterie_agent.certifying import Certifying
from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.asking import may_ask
from coterie_agent.commands.inviting import ask_owner
from coterie_agent.config import TEMPLATE, Config, load_config
from coterie_agent.device import capabilities
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, RunLock, write_private
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.network_page.link import OFF_NETWORK, find_page, offer_link
from coterie_agent.store.certificates import CertificateFiles
from coterie_agent.store.opened import open_store
from coterie_agent.updating.pinning import pin_update_root
from coterie_learning.consent import Scope
from coterie_wire.messages import Enrol, Enrolled
from coterie_wire.version import PROTOCOL

UNENCRYPTED = (
    "warning: {url} is not encrypted: whoever is on the way reads the token, this device's credential and its updates, "
    "and can change what the platform says; ask for an https address\n"
)

UNCERTIFIED = "warning: the device has joined and has no certificate yet; it asks again when it runs, within a day\n"


class Joined(msgspec.Struct, frozen=True):
    device: str
    name: str
    url: str
    home: str
    encrypted: bool
    """Whether the connection is encrypted, or need not be, since the platform is on this machine."""
    page: str = ""
    """The link by which a phone opens the owner's page once the agent runs, once and within an hour; blank: the page is
    not on the network."""
    fingerprint: str = ""
    """SHA-256 of the page's certificate."""
    agreed: tuple[Scope, ...] = ()
    """What plans may send from the device."""
    read: str = ""
    """What the owner was told, word by agreement."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.already_joined``, ``agent.bad_url``, ``agent.no_token``, ``config.invalid``,
    ``owner.*`` or ``page.*``, Unreachable or Refused."""
    home = Home(arguments.home)
    url, token = _invited(arguments.url, arguments.token)
    config = load_config(home.config)
    on_network = _is_on_network(arguments, home, config)
    with open_store(home) as store, RunLock(home.lock):  # two simultaneous joins would use up two tokens
        known = store.identity.find()
        if known is not None:
            detail = f"this device is {known.name} of {known.url} already; to change that, run: coterie-agent leave"
            raise AgentError("agent.already_joined", detail, exit_code=Exit.ALREADY_JOINED)
        page = find_page(home, config.page, url) if on_network else None  # before the token is used up
        encrypted = _is_encrypted(url)
        if not encrypted:
            sys.stderr.write(UNENCRYPTED.format(url=url))  # immediately, as the answer may take long
        platform = HttpLink(
            url,
            credential=store.identity.draw_joining_credential(url, token),
            record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
            ca_file=config.ca_file,
        )
        agreement = ask_owner(platform, url, token, config.consent, yes=arguments.yes, prompts=may_ask(arguments))
        name = arguments.name or socket.gethostname()
        enrol = Enrol(protocol=PROTOCOL, token=token, name=name, capabilities=capabilities())
        try:
            enrolled = platform.call(enrol, Enrolled)
        except Unreachable as error:
            detail = f"{error.detail}; run the same command again, which joins as the same device"
            raise Unreachable(detail) from error
        home.receipt.unlink(missing_ok=True)  # of the device that it was before
        pin_update_root(home, enrolled.update_root)
        store.identity.save(url=url, name=name, enrolled=enrolled)
        store.agreements.agree(agreement.scopes, how=agreement.how, read=agreement.read)
        if enrolled.certificates and url.startswith("https:"):
            platform.use_credential(enrolled.credential)
            if not Certifying(CertificateFiles(home), platform).certify():
                sys.stderr.write(UNCERTIFIED)
        if not home.config.exists():
            write_private(home.config, settings(on_network=on_network).encode())
        link = None if page is None else offer_link(store.phones, *page, now=time.time())
    joined = Joined(
        device=enrolled.device,
        name=name,
        url=url,
        home=str(home.root),
        encrypted=encrypted,
        page="" if link is None else link.url,
        fingerprint="" if link is None else link.fingerprint,
        agreed=agreement.scopes,
        read=agreement.read,
    )
    return Output(
        joined,
        [
            *([] if agreement.how == "terminal" else agreement.read.splitlines()),
            f"joined {url} as {name} ({enrolled.device})",
            f"settings: {home.config}",
            "next: coterie-agent ingest FILE, then coterie-agent run",
            "your page, while it runs: coterie-agent page",
            *([OFF_NETWORK] if link is None else link.lines(coloured=sys.stdout.isatty())),
        ],
    )


def _is_on_network(arguments: Arguments, home: Home, config: Config) -> bool:
    """Raises AgentError ``page.settings_are_there``."""
    if arguments.page_on_network and not config.page.on_network and home.config.exists():
        detail = f"{home.config} is there already: write on_network = true under [page] in it, and join without this"
        raise AgentError("page.settings_are_there", detail, exit_code=Exit.USAGE)
    return arguments.page_on_network or config.page.on_network


def settings(*, on_network: bool) -> str:
    """The initial content of agent.toml."""
    return TEMPLATE.replace("# on_network = false", "on_network = true") if on_network else TEMPLATE


def _is_encrypted(url: str) -> bool:
    """Whether no one else can read the connection: TLS, or a loopback address."""
    split = urlsplit(url)
    host = split.hostname or ""
    try:
        return split.scheme == "https" or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _invited(url: str, token: str) -> tuple[str, str]:
    """The platform's address and the token; a link for phones contains both."""
    address, _, secret = url.partition("/phone/#join=")
    if not (token or secret):
        detail = "a token is missing: say `coterie-agent join URL TOKEN`, or give a link for phones as it is, in quotes"
        raise AgentError("agent.no_token", detail, exit_code=Exit.USAGE)
    return _checked(address), token or secret


def _checked(url: str) -> str:
    split = urlsplit(url)
    if split.scheme not in ("http", "https") or not split.hostname:
        detail = f"{url!r} is not the address of a platform; it looks like https://platform.example"
        raise AgentError("agent.bad_url", detail, exit_code=Exit.USAGE)
    return url.rstrip("/")
