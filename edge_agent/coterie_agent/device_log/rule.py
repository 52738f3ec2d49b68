"""Decides on a request for the log by the owner's rule, and by the owner's decision where the rule is to ask."""

from coterie_agent.config import LogSettings
from coterie_agent.store.log_requests import LogWord
from coterie_wire.conditions import Reason
from coterie_wire.device_log import SendsLog

NEVER = Reason("logs.never", "its owner has it send its log to nobody (agent.toml, [logs])")
ALWAYS = Reason("logs.always", "its owner allows every request for its log (agent.toml, [logs])")
ASKS_OWNER = Reason(
    "logs.asks_owner",
    "it waits for its owner's word: on the device's page (coterie-agent page), or by coterie-agent logs --allow",
)
ALLOWED = Reason("logs.allowed", "its owner allows it")
REFUSED = Reason("logs.refused", "its owner does not allow it")


def sends_log(settings: LogSettings) -> SendsLog:
    """The capability as reported to the platform."""
    return SendsLog(refuses=NEVER if settings.send == "never" else None)


def word_on(settings: LogSettings, owners: LogWord) -> tuple[LogWord, Reason]:
    """The effective decision on a request, given the owner's own decision `owners`, and the reason for it."""
    if settings.send == "never":
        return "refused", NEVER
    if owners == "none":
        return ("allowed", ALWAYS) if settings.send == "always" else ("none", ASKS_OWNER)
    return owners, ALLOWED if owners == "allowed" else REFUSED
