"""What the agent does next: a pure function of its assignment, the platform's directive and the unmet conditions."""

from typing import NamedTuple, TypeAlias

from coterie_agent.policy import blocks_network
from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.evaluating import Evaluate
from coterie_wire.messages import Assignment
from coterie_wire.trial import ShadowTrial, Trial


class Facts(NamedTuple):
    """The inputs of the decision."""

    in_hand: Assignment | None
    """The assignment that the device has accepted and not finished."""
    spooled: bool
    """Whether its update is ready to be uploaded."""
    answered: bool
    """Whether the platform has answered since the agent started; before that, the device keeps its assignment."""
    assigned: Assignment | None
    """The assignment that the platform says is the device's, unless the device has finished it."""
    champion: SignedManifest | None
    """A version that the device should hold and does not."""
    blockers: tuple[Reason, ...]
    still_named: Assignment | None = None
    """An assignment that the device has finished but the platform still names: it has lost how that ended."""
    is_held: bool = False
    """Whether a supernode holds the update, and the platform has not changed the route."""
    trial: Trial | None = None
    """The version that the device is to compare with the candidate that it holds."""
    forms: SignedManifest | None = None
    """A list of smaller forms of the held version that the device does not have yet."""
    evaluate: Evaluate | None = None
    """The version that the device is to measure for a federated evaluation."""
    is_measured: bool = False
    """Whether the report of that evaluation is ready to be sent."""
    shadow: ShadowTrial | None = None
    """The roll-out whose shadow candidate is to be fetched or reported on."""
    is_shadow_over: bool = False
    """Whether a shadow candidate still answers whose roll-out has ended."""
    is_untimed: bool = False
    """Whether a model has run, and predictions of the held version are not timed yet."""


class Rest(NamedTuple):
    """Nothing can be done until something changes."""


class Accept(NamedTuple):
    assignment: Assignment


class Train(NamedTuple):
    assignment: Assignment


class Upload(NamedTuple):
    assignment: Assignment


class Drop(NamedTuple):
    """The platform has taken the assignment back."""

    assignment: Assignment


class GiveBack(NamedTuple):
    """Tell the platform that the assignment has ended, so that it does not wait for it."""

    assignment: Assignment


class Fetch(NamedTuple):
    champion: SignedManifest


class Compare(NamedTuple):
    trial: Trial


class TakeForms(NamedTuple):
    forms: SignedManifest


class Measure(NamedTuple):
    """Continue a federated evaluation, or report its outcome."""

    evaluate: Evaluate


class ContinueShadowing(NamedTuple):
    trial: ShadowTrial


class EndShadowing(NamedTuple):
    """Stop the shadow candidate."""


class TimeModel(NamedTuple):
    """Measure how long predictions of the held version take."""


Beside: TypeAlias = Measure | ContinueShadowing | EndShadowing | TimeModel
"""What is done when nothing else is due."""
Action: TypeAlias = Rest | Accept | Train | Upload | Drop | GiveBack | Fetch | Compare | TakeForms | Beside


def decide(facts: Facts) -> Action:
    """The next action.

    A spooled update is offered even when its assignment is no longer named: the platform stops naming an assignment
    once it has accepted the update, so only the answer to the offer tells whether it was accepted. One that a supernode
    holds stays until then, since it may have to be sent again.
    """
    offline = blocks_network(facts.blockers)
    if facts.in_hand is not None:
        if facts.spooled:
            return Rest() if offline or facts.is_held else Upload(facts.in_hand)
        if facts.answered and (facts.assigned is None or facts.assigned.assignment != facts.in_hand.assignment):
            return Drop(facts.in_hand)
        return Rest() if facts.blockers else Train(facts.in_hand)
    if facts.assigned is not None:
        return Accept(facts.assigned)
    if facts.still_named is not None:
        return GiveBack(facts.still_named)
    if facts.champion is not None and not offline:
        return Fetch(facts.champion)
    if facts.trial is not None and not facts.blockers:
        return Compare(facts.trial)
    if facts.is_shadow_over:
        return EndShadowing()
    if facts.shadow is not None and not facts.blockers:
        return ContinueShadowing(facts.shadow)
    if facts.evaluate is not None and not (offline if facts.is_measured else facts.blockers):
        return Measure(facts.evaluate)
    if facts.forms is not None and not offline:
        return TakeForms(facts.forms)
    if facts.is_untimed and not facts.blockers:
        return TimeModel()
    return Rest()
