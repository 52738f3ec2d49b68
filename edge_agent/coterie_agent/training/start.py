"""What a round's training starts from: the version that was received, with the portions that have helped since."""

from collections.abc import Sequence

from coterie_agent.store.peers import KeptPortion
from coterie_agent.training.model import Parameters
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.help.cartel import Cartel
from coterie_learning.portions.payload import Terms, decode_portion, merge_portion
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import WireError


def with_portions(
    received: Parameters, spec: ModelSpec, portions: Sequence[KeptPortion], known: Sequence[int]
) -> Parameters:
    """`received` with `portions`, oldest first; `known` are the classes that the device has samples of.

    A portion that does not fit the model any more is left out.
    """
    parameters = received
    for portion in portions:
        try:
            terms = terms_of(parse_device_plan(portion.plan), spec, portion.classes)
            parameters = merge_portion(terms, parameters, decode_portion(terms, portion.payload), known=known)
        except WireError:
            continue
    return parameters


def terms_of(plan: DevicePlan, spec: ModelSpec, classes: tuple[int, ...]) -> Terms:
    """What devices go by when one helps another with `classes`.

    Raises WireError ``portion.unsupported`` where they cannot under `plan`.
    """
    if not isinstance(plan.help, Cartel) or plan.help.portion == "learner":
        raise WireError("portion.unsupported", "under this plan devices give each other no part of their models")
    return Terms(spec, classes, plan.help, plan.codec, plan.privacy)
