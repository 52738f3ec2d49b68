"""The thread that answers requests for the log: it is sent only where the owner's rule, or the owner, allows it."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from coterie_agent.config import LogSettings
from coterie_agent.device_log.keeping import newest, read_log
from coterie_agent.device_log.redacting import Redactor
from coterie_agent.device_log.rule import word_on
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.link.http import HttpLink
from coterie_agent.loopback import Address
from coterie_agent.retrying import Retrying
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_wire.device_log import DeliverLog, LogAsked, ReportLog
from coterie_wire.errors import UNREADABLE
from coterie_wire.messages import Done
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
_POLL_S = 2.0
"""Seconds between checks for the owner's decision, which a command in another process may record."""
_LONGEST_WAIT_S = 600.0


@dataclass(kw_only=True)
class LogThread:
    """The thread; its next action follows from the store and the situation, so it may be stopped at any moment."""

    home: Home
    settings: LogSettings
    store: Store
    link: HttpLink
    situation: Situation
    unix_time: Callable[[], float] = time.time
    _reported: tuple[str, str] | None = None
    """The request, and the code of the reason last reported to the platform."""
    _retrying: Retrying = field(init=False)

    def __post_init__(self) -> None:
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=_LONGEST_WAIT_S)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            asked = now.directive.log if now.directive else None
            if now.directive is not None and asked is None and self.store.log_requests.open_request() is not None:
                self.store.log_requests.withdraw(now=self.unix_time())
            if asked is None or self.situation.is_offline():
                self.situation.wait(now.edition, None)
                continue
            try:
                is_open = self._answer(asked)
                self._retrying.succeed()
                self.situation.wait(now.edition, _POLL_S if is_open else None)
            except AgentError as error:
                self._fail(asked, error)

    def _answer(self, asked: LogAsked) -> bool:
        """Answer the request; whether it waits for the owner. Raises AgentError."""
        request = self.store.log_requests.receive(asked, now=self.unix_time())
        if request.outcome != "open":
            return False  # the next directive will not name it any more
        word, reason = word_on(self.settings, request.word)
        if self._reported != (asked.request, reason.code):
            outcome = "asking" if word == "none" else word
            self.link.call(ReportLog(request=asked.request, outcome=outcome, reason=reason), Done)
            self._reported = (asked.request, reason.code)
            log.info("an operator asks for this device's log: %s [%s]", reason.sentence, reason.code)
        if word == "allowed":
            self._deliver(asked)
        elif word == "refused":
            self.store.log_requests.end(asked.request, "refused", now=self.unix_time())
        return word == "none"

    def _deliver(self, asked: LogAsked) -> None:
        redactor = Redactor(
            secrets=_secrets(self.home),
            homes=(self.home.root, Path("~").expanduser()),
            figures=not self.store.work.is_masked(),
        )
        lines = read_log(self.home.log, since=self.unix_time() - 3600 * asked.hours)
        found = newest(redactor.redacted(line) for line in lines)
        message = DeliverLog(request=asked.request, lines=found.lines, left_out=found.left_out)
        self.link.call(message, Done)
        size_bytes = len(msgspec.json.encode(message))
        self.store.log_requests.end(
            asked.request, "delivered", now=self.unix_time(), lines=len(found.lines), size_bytes=size_bytes
        )
        log.info("sent %d lines of this device's log to the platform", len(found.lines))

    def _fail(self, asked: LogAsked, error: AgentError) -> None:
        if not self._retrying.handles(error):
            log.info("the platform does not take this device's log: %s [%s]", error.detail, error.code)
            self.store.log_requests.end(asked.request, "withdrawn", now=self.unix_time())


def _secrets(home: Home) -> list[str]:
    """The agent's secrets, as they would appear in a line."""
    found = []
    for path in (home.credential, home.next_credential, home.former_credential):
        try:
            found.append(path.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            continue
    for path in (home.local_api, home.serving):
        try:
            found.append(from_json(path.read_bytes(), Address).token)
        except (OSError, *UNREADABLE):
            continue
    return found
