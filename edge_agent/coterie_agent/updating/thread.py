"""The thread that updates the agent as the platform requests, where the owner allows it."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from coterie_agent import VERSION
from coterie_agent.conditions.local_hour import LocalHour
from coterie_agent.config import UpdateSettings
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.home import Home
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Now, Situation
from coterie_agent.store.work import WorkStore
from coterie_agent.updating.consent import release_consent
from coterie_agent.updating.offer import keep_offer, offer_of
from coterie_agent.updating.support import why_not
from coterie_agent.versions.launching import return_to_former
from coterie_agent.versions.state import Candidate, Versions, VersionState
from coterie_wire.conditions import Reason, is_within
from coterie_wire.messages import Done
from coterie_wire.updating import WITHDRAWN, AgentUpdate, ReportUpdate, parts_of

log = logging.getLogger(__name__)
_POLL_S = 60.0
"""Seconds between checks for the owner's hours and decision, which nothing signals."""
_LONGEST_WAIT_S = 600.0


@dataclass(kw_only=True)
class UpdatingThread:
    """The thread; its next action follows from the files and the situation, so it may be stopped at any moment."""

    home: Home
    settings: UpdateSettings
    work: WorkStore
    link: HttpLink
    situation: Situation
    on_trial: bool
    local_hour: LocalHour = field(default_factory=LocalHour)
    unix_time: Callable[[], float] = time.time
    rng: random.Random = field(default_factory=random.SystemRandom)
    _backoff: Backoff = field(default_factory=Backoff)
    _reported_wait: tuple[str, Reason] | None = None

    def run(self) -> None:
        """Run until the situation's `stop` is set, which this thread sets where another release is to take over."""
        while not (now := self.situation.now).stopping:
            if now.link == "offline" or now.directive is None:
                self.situation.wait(now.edition, None)
                continue
            if self.on_trial:
                self._versions.confirmation.touch()  # now the former agent stops this one, which is started again
                return
            try:
                self._follow(now)
                self._backoff = Backoff()
                self.situation.wait(now.edition, _POLL_S)
            except AgentError as error:
                if isinstance(error, Refused) and error.is_revoked:
                    self.situation.end(error)
                    return
                log.info("the update of the agent waits: %s [%s]", error.detail, error.code)
                self._backoff = self._backoff.failed()
                self.situation.wait_for_stop(self._backoff.delay_s(longest_s=_LONGEST_WAIT_S, rng=self.rng))

    @property
    def _versions(self) -> Versions:
        return Versions(self.home.versions)

    def _follow(self, now: Now) -> None:
        """Follow the platform's current update request. Raises Unreachable or Refused."""
        self._report_ended()
        update = now.directive.update if now.directive else None
        state = self._versions.read_or_new()
        if update is None or (update.to_do == "install" and state.has_ended(update.update)):
            self.situation.set_update_wait(None)
            return
        if update.to_do == "return":
            self._return(update, state)
            return
        refused = self._why_refused(update)
        if refused is not None:
            self._end(update, refused)
            return
        asks = self._why_owner_waits(update)
        if asks is not None and offer_of(self.home, update.version) is None and not self._describe(update):
            return
        waits = asks or self._why_waiting(update, now)
        self.situation.set_update_wait(waits)
        if waits is None:
            self._install(update)
        elif self._reported_wait != (update.update, waits):
            self.link.call(ReportUpdate(update=update.update, outcome="waiting", reason=waits), Done)
            self._reported_wait = (update.update, waits)

    def _why_refused(self, update: AgentUpdate) -> Reason | None:
        refuses = why_not(self.home, self.settings)
        if refuses is not None:
            return refuses
        if parts_of(update.version) <= parts_of(VERSION):
            return Reason("updates.not_newer", f"agent {update.version} is not newer than {VERSION}, which runs")
        return None

    def _why_owner_waits(self, update: AgentUpdate) -> Reason | None:
        if self.settings.take == "on":
            return None
        return release_consent(self.home).why_not(update.version, now=self.unix_time())

    def _describe(self, update: AgentUpdate) -> bool:
        """Fetch the description for the owner; False if it cannot be verified: the update ends. Raises Unreachable."""
        from coterie_agent.updating.fetching import describe_release  # only here, as below

        try:
            offer = describe_release(
                update.version, link=self.link, root=self.home.update_root.read_bytes(), folder=self.home.updates
            )
        except AgentError as error:
            if is_retryable(error):
                raise
            self._end(update, reason_of(error))
            return False
        keep_offer(self.home, offer)
        return True

    def _why_waiting(self, update: AgentUpdate, now: Now) -> Reason | None:
        if self.settings.hours is not None and not is_within(self.settings.hours, self.local_hour()):
            first, last = self.settings.hours
            return Reason("updates.hours", f"agent {update.version} is installed between {first} and {last} o'clock")
        if now.progress is not None or self.work.current() is not None:
            return Reason("updates.at_work", f"agent {update.version} waits until the round has this device's work")
        return None

    def _install(self, update: AgentUpdate) -> None:
        """Fetch and install the release, and stop for its trial. Raises Unreachable."""
        # Only here: python-tuf takes 10 MB, and updates are rare.
        from coterie_agent.updating.fetching import fetch_release
        from coterie_agent.updating.staging import stage

        log.info("agent %s is fetched and installed beside this one", update.version)
        try:
            wheels = fetch_release(
                update.version, link=self.link, root=self.home.update_root.read_bytes(), folder=self.home.updates
            )
            stage(update.version, wheels, base=self._versions.read_or_new().base, versions=self._versions)
        except AgentError as error:
            if is_retryable(error):
                raise
            self._end(update, reason_of(error))
            return
        candidate = Candidate(update.version, update.update, update.probation_s)
        self._versions.change(lambda state: msgspec.structs.replace(state, candidate=candidate))
        self.situation.stop()

    def _return(self, update: AgentUpdate, state: VersionState) -> None:
        """Return to the former release if this update brought the current one; else there is nothing to return from."""
        if state.update != update.update or state.current != self._versions.own():
            self.link.call(ReportUpdate(update=update.update, outcome="returned"), Done)
            return
        reason = Reason(WITHDRAWN, f"the platform has the fleet go back from agent {update.version}")
        former = return_to_former(self.home, state, reason)
        if former is None:
            why = Reason("updates.cannot_return", "the agent before cannot read what this one has written to its store")
            self.link.call(ReportUpdate(update=update.update, outcome="refused", reason=why), Done)
            return
        log.warning("%s", reason.sentence)
        self._versions.write(former)
        self.situation.stop()

    def _end(self, update: AgentUpdate, reason: Reason) -> None:
        log.warning("agent %s is not installed: %s [%s]", update.version, reason.sentence, reason.code)
        self.situation.set_update_wait(None)
        self._versions.end(update.update, update.version, "refused", reason)
        self._report_ended()

    def _report_ended(self) -> None:
        """Report updates that have ended to the platform. Raises Unreachable or Refused."""
        state = self._versions.read()
        for one in state.ended if state else ():
            if not one.told:
                report = ReportUpdate(update=one.update, outcome=one.outcome, reason=one.reason)
                try:
                    self.link.call(report, Done)
                except Refused as error:
                    if error.is_revoked or is_retryable(error):
                        raise
                    log.info("the platform does not want to know how an update ended: %s", error.detail)
                reported = msgspec.structs.replace(one, told=True)
                self._versions.change(
                    lambda now, one=one, reported=reported: msgspec.structs.replace(  # type: ignore[misc]  # bound here
                        now, ended=tuple(reported if other == one else other for other in now.ended)
                    )
                )
