"""The plan: what a federation does, as data, one kind in each slot."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

import msgspec

from coterie.learning import groups, merge, pace
from coterie.learning.groups import Groups
from coterie.learning.groups.one import One
from coterie.learning.merge import Merge
from coterie.learning.merge.distill import DistillMerge
from coterie.learning.pace import Pace
from coterie_wire.codec import Codec
from coterie_wire.conditions import Requirements
from coterie_wire.errors import WireError
from coterie_wire.help import Help
from coterie_wire.kinds import Registry
from coterie_wire.local import Local
from coterie_wire.plan import CODEC, HELP, LOCAL, PRIVACY, DevicePlan
from coterie_wire.privacy import Privacy

Document: TypeAlias = dict[str, object]
"""JSON: a plan, or a schema."""

PACE = Registry("pace", pace, Pace)
MERGE = Registry("merge", merge, Merge)
GROUPS = Registry("groups", groups, Groups)
PRESETS = Path(__file__).parent / "presets"


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind a slot, parsed."""

    local: Local
    codec: Codec
    privacy: Privacy
    requirements: Requirements
    pace: Pace
    merge: Merge
    help: Help
    groups: Groups

    @property
    def device(self) -> DevicePlan:
        """The device's part of it."""
        return DevicePlan(
            local=self.local,
            codec=self.codec,
            privacy=self.privacy,
            requirements=self.requirements,
            help=self.help,
            alone_every_s=None if self.pace.holds_rounds() else self.pace.rest_s(),
        )


def parse_plan(raw: object) -> Plan:
    """The plan that `raw` stands for: a mapping of slots, each ``{"kind": name, **hyperparameters}``.

    A slot that is left out has sgd, int8, sync, fed_avg or nothing; requirements have the defaults of their fields.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``.
    """
    try:
        slots = msgspec.convert(raw, _Slots)
    except msgspec.ValidationError as error:
        raise WireError("plan.invalid", f"plan: {error}") from error
    plan = Plan(
        local=LOCAL.parse(slots.local),
        codec=CODEC.parse(slots.codec),
        privacy=PRIVACY.parse(slots.privacy),
        requirements=slots.requirements,
        pace=PACE.parse(slots.pace),
        merge=MERGE.parse(slots.merge),
        help=HELP.parse(slots.help),
        groups=GROUPS.parse(slots.groups),
    )
    if not isinstance(plan.groups, One) and not isinstance(plan.merge, DistillMerge):
        detail = (
            f"slot groups: {plan.groups.name} compares outputs on the cloud data, which only merge distill computes"
        )
        raise WireError("plan.invalid", detail)
    return plan


def plan_document(plan: Plan) -> Document:
    """`plan` as JSON with every hyperparameter written out, so that later defaults do not change it."""
    return msgspec.convert(msgspec.to_builtins(plan), Document)


def plan_schema() -> Mapping[str, Document]:
    """JSON schema by slot and kind, for validation elsewhere and for drawing forms; `requirements` has no kinds."""
    slots = (LOCAL, CODEC, PRIVACY, PACE, MERGE, HELP, GROUPS)
    kinds: dict[str, Document] = {slot.slot: dict(slot.schema()) for slot in slots}
    return kinds | {"requirements": msgspec.json.schema(Requirements)}


@cache
def presets() -> Mapping[str, Plan]:
    """The published systems that stand in `presets/` as files of kinds, by name."""
    return {path.stem: parse_plan(tomllib.loads(path.read_text())) for path in sorted(PRESETS.glob("*.toml"))}


class _Slots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    local: object = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    codec: object = msgspec.field(default_factory=lambda: {"kind": "int8"})
    privacy: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    requirements: Requirements = Requirements()
    pace: object = msgspec.field(default_factory=lambda: {"kind": "sync"})
    merge: object = msgspec.field(default_factory=lambda: {"kind": "fed_avg"})
    help: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    groups: object = msgspec.field(default_factory=lambda: {"kind": "one"})
