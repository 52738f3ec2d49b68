"""The start of a round's training: the version that was received, with the portions stored since."""

from collections.abc import Sequence
from typing import Protocol

from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.portions.payload import PortionTerms, decode_portion, merge_portion
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors


class KeptPortion(Protocol):
    """A portion that the device has stored."""

    @property
    def plan(self) -> bytes:
        """The `coterie_learning.device_plan.DevicePlan` under which it was sent, as JSON."""

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes that the device asked for help with."""

    @property
    def payload(self) -> bytes: ...


def with_portions(received: Tensors, spec: ModelSpec, portions: Sequence[KeptPortion], known: Sequence[int]) -> Tensors:
    """`received` with `portions` merged, oldest first; `known` are the classes that the device has samples of.

    A portion that no longer fits the model is left out.
    """
    parameters = received
    for portion in portions:
        try:
            terms = terms_of(parse_device_plan(portion.plan), spec, portion.classes)
            parameters = merge_portion(terms, parameters, decode_portion(terms, portion.payload), known=known)
        except WireError:
            continue
    return parameters


def terms_of(plan: DevicePlan, spec: ModelSpec, classes: tuple[int, ...]) -> PortionTerms:
    """The settings by which one device helps another with `classes`.

    Raises WireError ``portion.unsupported`` where `plan` does not allow it.
    """
    rules = plan.help.rules()
    if rules is None or rules.portion == "learner":
        raise WireError("portion.unsupported", "under this plan devices give each other no part of their models")
    return PortionTerms(spec, classes, rules, plan.codec, plan.privacy)
