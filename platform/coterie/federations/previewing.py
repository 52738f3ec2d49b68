"""What a plan would be and what it would change, before it is chosen: pure functions of documents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from coterie_learning.plan import Document, Plan, parse_plan, plan_document, read_plan
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

FIELD = re.compile(r"`\$\.(\w+)")
WORDS: Mapping[str, str] = {
    "local": "Devices train otherwise",
    "codec": "Updates travel otherwise",
    "privacy": "What hides one device's update changes",
    "requirements": "Devices judge the new requirements at their next check-in",
    "pace": "Rounds open and close by other rules",
    "selection": "Devices are chosen by another rule",
    "topology": "Updates come to the platform by another way",
    "merge": "Updates become a version by another rule",
    "down": "Versions travel to devices in another form",
    "personal": "Devices train models of their own otherwise, beside the version",
    "help": "Devices whose model fails are helped otherwise",
    "groups": "The split into groups follows another rule",
    "rollout": "New versions come to the devices in another way",
    "fallback": "Devices whose own model does not answer are answered by another rule",
    "forgetting": "Of versions that hold a device which is forgotten, something else becomes",
}


@dataclass(frozen=True)
class PlanProblem:
    """What is wrong with one slot."""

    slot: str
    """Blank: the plan as a whole."""
    field: str
    """Blank: the slot as a whole."""
    code: str
    sentence: str


@dataclass(frozen=True)
class PlanChange:
    """A field that differs."""

    slot: str
    field: str
    before: object
    after: object


def problems_of(raw: Mapping[str, object]) -> list[PlanProblem]:
    """Everything that is wrong with a plan, slot by slot; empty: it can be parsed."""
    found: list[PlanProblem] = []
    for slot, value in raw.items():
        try:
            read_plan({slot: value})
        except WireError as error:
            path = FIELD.search(error.detail)
            named = path.group(1) if path else ""
            known = slot if slot in Plan.__struct_fields__ else ""
            found.append(PlanProblem(known, "" if named == slot else named, error.code, error.detail))
    if not found:
        found = [
            PlanProblem(slot, "", reason.code, reason.sentence) for slot, reason in read_plan(raw).misfits(None, None)
        ]
    return found


def changes_between(before: Mapping[str, object], after: Mapping[str, object]) -> list[PlanChange]:
    """Field by field, in the order of the slots."""
    found = []
    for slot in Plan.__struct_fields__:
        old, new = _fields(before.get(slot)), _fields(after.get(slot))
        for name in {**old, **new}:
            if old.get(name) != new.get(name):
                found.append(PlanChange(slot, name, old.get(name), new.get(name)))
    return found


def complete(raw: object) -> Document:
    """The plan with every hyperparameter written out. Raises WireError."""
    return plan_document(parse_plan(raw))


def _fields(slot: object) -> dict[str, object]:
    return from_values(slot, dict[str, object]) if slot is not None else {}
