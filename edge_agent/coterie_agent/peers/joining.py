"""The two kinds of work between rounds: training a personal model beside the version, and help between devices."""

from typing import Protocol

from coterie_agent.consent import Consent
from coterie_agent.peers import membership
from coterie_agent.peers.context import PeersContext
from coterie_agent.peers.personal_training import PersonalTraining
from coterie_agent.situation import Now
from coterie_agent.store.peers import PeersStatus
from coterie_agent.training.model import Model
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.bundle import Manifest
from coterie_wire.helping import StandingPlan


class BetweenRounds(Protocol):
    """A device's part in a federation between rounds. Methods raise AgentError or WireError."""

    def is_current(self, standing: StandingPlan, version: str) -> bool:
        """Whether it can continue under that plan, now that the device holds `version`."""

    def report(self, now: Now) -> bool:
        """Send what is due to the platform; whether anything was due."""

    def learn(self, now: Now) -> bool:
        """Train or evaluate for a short time, if anything is due; whether anything was."""

    def status(self) -> PeersStatus:
        """The status for the owner."""


def join(standing: StandingPlan, manifest: Manifest, context: PeersContext) -> BetweenRounds:
    """Take part under `standing` with the version of `manifest`, which is on the device.

    Raises AgentError ``owner.not_agreed``, ``owner.taken_back``,
    ``bundle.*`` or ``model.*``, WireError ``plan.*`` or ``tensors.*``.
    """
    plan = parse_device_plan(standing.plan)
    Consent(context.config.consent, context.store.agreements).check(standing.federation, plan.scopes)
    rules = plan.personal.rules(plan.local)
    if rules is None:
        return membership.join(standing, plan, manifest, context)
    return PersonalTraining(
        standing=standing,
        rules=rules,
        model=Model(manifest, context.blobs),
        config=context.config,
        store=context.store,
        link=context.link,
        situation=context.situation,
        before=context.store.peers.personal(),
    )
