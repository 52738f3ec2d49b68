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
    """This device's address on the network that leads to `url`. Nothing is sent.

    Raises AgentError ``relay.no_address``.
    """
    parsed = urllib3.util.parse_url(url)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            way.connect((parsed.host or "", parsed.port or 443))
            return str(way.getsockname()[0])
    except OSError as error:
        detail = f"no way to {url}: {error.strerror}; name the address for neighbours in agent.toml, [relay]"
        raise AgentError("relay.no_address", detail, exit_code=Exit.BAD_CONFIG) from error
