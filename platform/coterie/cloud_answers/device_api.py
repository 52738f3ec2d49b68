"""The platform's answers to samples that devices send."""

from collections.abc import Mapping
from concurrent.futures import Future
from datetime import datetime

from coterie.cloud_answers.running import ANSWERERS
from coterie.cloud_answers.services import prepare_answer
from coterie.fleet.handler import SlowHandler
from coterie.fleet.models import Device
from coterie_wire.fallback import AskPlatform, PlatformAnswer


def ask_platform(device: Device, message: AskPlatform, now: datetime) -> "Future[PlatformAnswer]":
    """Have a model run on the samples."""
    question = prepare_answer(device=device, message=message, now=now)
    return ANSWERERS.ask(question, remaining_s=message.remaining_s)


SLOW_HANDLERS: Mapping[str, SlowHandler] = {"ask-platform": ask_platform}
