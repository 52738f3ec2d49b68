"""The thread that works between rounds: it evaluates and trains the personal model, and exchanges help."""

import logging
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coterie_agent.consent import NOT_AGREED, TAKEN_BACK
from coterie_agent.errors import AgentError
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import FETCHED_AGAIN, Refused, is_retryable
from coterie_agent.model import held_manifest
from coterie_agent.peers.context import PeersContext
from coterie_agent.policy import blocks_network
from coterie_agent.retrying import warn
from coterie_agent.situation import Now
from coterie_agent.store.database import StoreFailed
from coterie_agent.store.identity import Identity
from coterie_learning.custom_kinds import named_failures
from coterie_wire.errors import WireError
from coterie_wire.messages import Directive

if TYPE_CHECKING:
    from coterie_agent.peers.joining import BetweenRounds

log = logging.getLogger(__name__)
_POLL_S = 0.5
"""Seconds between checks for samples added by another process, and for the owner's decision."""


@dataclass(kw_only=True)
class PeersThread:
    """The thread; its next action follows from the store and the situation, so it may be stopped at any moment."""

    identity: Identity
    agent: PeersContext
    rng: random.Random = field(default_factory=random.SystemRandom)
    _backoff: Backoff = field(default_factory=Backoff)
    _quiet_until: float = 0.0
    """On the monotonic clock, in seconds: until then the platform is not called."""
    _member: "BetweenRounds | None" = None
    _unfit: tuple[str, str] | None = None
    """Plan and version with which the device cannot help or be helped."""
    _waits_for_owner: bool = False
    """Whether the plan asks for more than the owner has agreed to."""

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.agent.situation.now).stopping:
            if not self.step():
                polls = self._member is not None or self._waits_for_owner
                self.agent.situation.wait(now.edition, _POLL_S if polls else None)

    def step(self) -> bool:
        """Do the first action that is due; False where none is, or where it failed."""
        done = self._attempt(self.agent.situation.now)
        self._publish()
        return done

    def _attempt(self, now: Now) -> bool:
        self._waits_for_owner = False
        try:
            return self._act(now)
        except StoreFailed as error:
            if not is_retryable(error):
                raise  # the store could not record it
            self._failed(error, now)
        except (AgentError, WireError) as error:
            self._failed(error, now)
        return False

    def _act(self, now: Now) -> bool:
        with named_failures(AgentError):
            if now.directive is not None:
                self._store_plan(now.directive)
            self._member = self._join(now)
            if self._member is None:
                self._settle(now)
                return False
            reachable = not blocks_network(now.blockers) and time.monotonic() >= self._quiet_until
            return (reachable and self._report(self._member, now)) or self._member.learn(now)

    def _store_plan(self, directive: Directive) -> None:
        """Store the plan that the platform's last answer sets between rounds."""
        if not directive.stands:
            if self.agent.store.peers.effective_plan() is not None:
                self.agent.store.peers.remove_plan()
                log.info("nothing holds between rounds any more")
        elif directive.standing is not None and directive.standing != self.agent.store.peers.effective_plan():
            self.agent.store.peers.set_plan(directive.standing)
            log.info("learns with its peers in %s", directive.standing.federation)

    def _join(self, now: Now) -> "BetweenRounds | None":
        """The device's membership, on the version that it holds; None where it has none, or no version."""
        standing = self.agent.store.peers.effective_plan()
        if standing is None or now.version is None or _is_withdrawn(now):
            return None
        if self._member is not None and self._member.is_current(standing, now.version):
            return self._member
        if self._unfit == (standing.digest, now.version):
            return None
        # Only here: NumPy and onnxruntime take 30 MB, and many devices take part in rounds alone.
        from coterie_agent.peers.joining import join

        return join(standing, held_manifest(self.agent.store), self.agent)

    def _settle(self, now: Now) -> None:
        """Where no plan applies any more, decide whether the personal model stays in use beside a new version."""
        own, standing = self.agent.store.peers.personal(), self.agent.store.peers.effective_plan()
        if own is None or now.version is None or own.base == now.version or standing is not None:
            return
        if now.directive is None or _is_withdrawn(now) or self._unfit == ("", now.version):
            return
        from coterie_agent.peers.personal_model import settle  # only here, as above
        from coterie_agent.peers.reading import newest_samples
        from coterie_agent.training.model import Model

        settle(
            Model(held_manifest(self.agent.store), self.agent.blobs),
            self.agent.store.peers,
            newest_samples(self.agent.store.samples),
            now=time.time(),
            threads=self.agent.config.threads,
        )

    def _report(self, member: "BetweenRounds", now: Now) -> bool:
        done = member.report(now)
        if done:
            self._backoff = Backoff()
        return done

    def _failed(self, error: AgentError | WireError, now: Now) -> None:
        """Wait after temporary errors; stop using a version or a plan that cannot be used.

        Where a blob of the version is missing that is the one held since `now`, the version is downloaded again; where
        another has replaced it meanwhile, that one is used next.
        """
        if isinstance(error, Refused) and error.is_revoked:
            self.agent.situation.end(error)
        elif error.code in (NOT_AGREED, TAKEN_BACK):
            self._waits_for_owner, self._member = True, None
        elif isinstance(error, AgentError) and error.code in FETCHED_AGAIN:
            self._member = None
            if self.agent.situation.now.version == now.version:
                log.warning("%s; the version is downloaded again", error.detail)
                self.agent.situation.lose_model()
        elif isinstance(error, AgentError) and (is_retryable(error) or isinstance(error, Refused)):
            self._backoff = self._backoff.failed()
            delay_s = self._backoff.delay_s(longest_s=max(1.0, self.identity.check_in_s), rng=self.rng)
            self._quiet_until = time.monotonic() + delay_s
            warn(error)
        else:
            standing, version = self.agent.store.peers.effective_plan(), self.agent.situation.now.version
            self._unfit = (standing.digest if standing else "", version or "")
            self._member = None
            log.error("this device cannot learn with its peers: %s [%s]", error.detail, error.code)

    def _publish(self) -> None:
        """Publish the state to the other threads and the owner."""
        standing, asked = self.agent.store.peers.effective_plan(), self.agent.store.peers.open_request()
        self.agent.situation.set_peers(
            standing=standing.digest if standing else None,
            asking=asked.request if asked else None,
            peers=self._member.status() if self._member else None,
        )


def _is_withdrawn(now: Now) -> bool:
    """Whether the version that the device holds was rolled back, so that another will follow."""
    return now.directive is not None and now.version in now.directive.withdrawn
