"""What this device is."""

import os
import socket
from platform import machine, system

import psutil
import urllib3

from coterie_agent import VERSION
from coterie_agent.config import QuestionSettings
from coterie_agent.errors import AgentError, Exit
from coterie_wire.asking import OfferToAnswer
from coterie_wire.messages import Capabilities


def capabilities() -> Capabilities:
    """Cores, memory and kind of machine, as reported to the platform."""
    return Capabilities(
        cores=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        machine=f"{machine()} {system()}"[:100],
        agent=VERSION,
    )


def offer_to_answer(questions: QuestionSettings) -> OfferToAnswer | None:
    """What the owner lets the device be counted in; None: in nothing."""
    if not questions.answer:
        return None
    return OfferToAnswer(tuple(sorted(questions.answer)), questions.without_noise, questions.min_devices)


def own_address(url: str) -> str:
    """This device's address on the network that leads to `url`, of IPv4 if one does. Nothing is sent.

    Raises AgentError ``relay.no_address``.
    """
    parsed = urllib3.util.parse_url(url)
    why: str | None = "it has no address"
    try:
        found = socket.getaddrinfo((parsed.host or "").strip("[]"), parsed.port or 443, type=socket.SOCK_DGRAM)
        for family, kind, protocol, _, there in sorted(found, key=lambda one: one[0] != socket.AF_INET):
            try:
                with socket.socket(family, kind, protocol) as way:
                    way.connect(there)
                    return str(way.getsockname()[0])
            except OSError as error:
                why = error.strerror
    except OSError as error:
        why = error.strerror
    detail = f"no way to {url}: {why}; name this device's address in agent.toml"
    raise AgentError("relay.no_address", detail, exit_code=Exit.BAD_CONFIG)


def with_port(host: str, port: int) -> str:
    """``HOST:PORT``, with an address of IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_and_port(address: str) -> tuple[str, int]:
    """The two of ``HOST:PORT``, without the brackets of an address of IPv6."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
