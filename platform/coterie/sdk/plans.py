"""Plans by name: a published system, with single fields or whole kinds of one's own."""

from collections.abc import Mapping

from coterie.sdk.errors import InvalidPlan
from coterie_learning.plan import Document, parse_plan, plan_document
from coterie_learning.plan import presets as shipped
from coterie_learning.unknown_names import nearest
from coterie_wire.errors import WireError

Choice = str | Mapping[str, object]
"""A kind by its name, with its defaults; or fields, of the kind that they name, else of the preset's."""


def presets() -> list[str]:
    """The names that `plan` takes."""
    return list(shipped())


def plan(preset: str = "fedavg", **slots: Choice) -> Document:
    """The plan of a `preset`, with other kinds or single fields in `slots`; every hyperparameter is written out.

    ``plan("fedprox", local={"mu": 0.1}, codec="float32")`` is the preset with another weight of its proximal term, and
    with updates that travel as float32. ``requirements={"charging": False}`` changes what is asked of devices. Raises
    InvalidPlan, which names what there is.
    """
    known = shipped()
    if preset not in known:
        meant = nearest(preset, known)
        sentence = f"There is no preset {preset!r}, the nearest is {meant!r}; there are {', '.join(known)}."
        raise InvalidPlan("sdk.unknown_preset", sentence)
    made = plan_document(known[preset])
    for slot, choice in slots.items():
        if isinstance(choice, str):
            made[slot] = {"kind": choice}
            continue
        before = made.get(slot)
        is_same = isinstance(before, dict) and choice.get("kind", before.get("kind")) == before.get("kind")
        made[slot] = {**(before if is_same and isinstance(before, dict) else {}), **choice}
    return checked(made)


def checked(given: Mapping[str, object]) -> Document:
    """`given` with every hyperparameter written out. Raises InvalidPlan."""
    try:
        return plan_document(parse_plan(dict(given)))
    except WireError as error:
        raise InvalidPlan(error.code, error.detail) from error
