"""The alliances' answers to devices."""

from collections.abc import Mapping
from datetime import datetime

from coterie.alliances import relaying
from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie_wire.alliances import Alliance, ExchangeLetters, JoinAlliance, LettersNews


def join_alliance(device: Device, message: JoinAlliance, now: datetime) -> Alliance:
    """Record that the device's owner agrees, and tell what to."""
    return relaying.join_alliance(device=device, message=message, now=now)


def exchange_letters(device: Device, message: ExchangeLetters, now: datetime) -> LettersNews:
    """Relay between the parties."""
    return relaying.exchange_letters(device=device, message=message, now=now)


HANDLERS: Mapping[str, Handler] = {"join-alliance": join_alliance, "exchange-letters": exchange_letters}
