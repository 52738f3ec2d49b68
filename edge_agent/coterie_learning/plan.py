"""The plan: how a federation learns, as data, one kind in each slot."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from coterie_learning import down, fallback, forgetting, groups, merge, pace, rollout, selection, topology
from coterie_learning.codec import Codec
from coterie_learning.custom_kinds import Offer, offers
from coterie_learning.device_plan import CODEC, HELP, LOCAL, PERSONAL, PRIVACY, DevicePlan
from coterie_learning.down import Down
from coterie_learning.fallback import Fallback
from coterie_learning.forgetting import Forgetting
from coterie_learning.groups import Groups
from coterie_learning.help import Help
from coterie_learning.kinds import Kind, Registry, Resources
from coterie_learning.local import Local
from coterie_learning.merge import Merge
from coterie_learning.pace import Pace
from coterie_learning.personal import Personal
from coterie_learning.privacy import Privacy
from coterie_learning.rollout import Rollout
from coterie_learning.selection import Selection
from coterie_learning.topology import Topology
from coterie_learning.unknown_names import check_names
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason, Requirements
from coterie_wire.errors import WireError
from coterie_wire.structs import from_json, from_values

Document: TypeAlias = dict[str, object]
"""JSON: a plan, or a schema."""

PACE = Registry("pace", pace, Pace)
SELECTION = Registry("selection", selection, Selection)
TOPOLOGY = Registry("topology", topology, Topology)
MERGE = Registry("merge", merge, Merge)
DOWN = Registry("down", down, Down)
GROUPS = Registry("groups", groups, Groups)
ROLLOUT = Registry("rollout", rollout, Rollout)
FALLBACK = Registry("fallback", fallback, Fallback)
FORGETTING = Registry("forgetting", forgetting, Forgetting)
SLOTS: Mapping[str, Registry[Kind]] = {
    registry.slot: registry
    for registry in (
        LOCAL,
        CODEC,
        PRIVACY,
        PACE,
        SELECTION,
        TOPOLOGY,
        MERGE,
        DOWN,
        PERSONAL,
        HELP,
        GROUPS,
        ROLLOUT,
        FALLBACK,
        FORGETTING,
    )
}
"""The registry of each slot, in the order in which plans are written."""
PRESETS = Path(__file__).parent / "presets"


class Misfit(NamedTuple):
    """A kind that cannot work with the rest of the plan, the model or the federation's resources."""

    slot: str
    reason: Reason


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind a slot, parsed."""

    local: Local
    codec: Codec
    privacy: Privacy
    requirements: Requirements
    pace: Pace
    selection: Selection
    topology: Topology
    merge: Merge
    down: Down
    personal: Personal
    help: Help
    groups: Groups
    rollout: Rollout
    fallback: Fallback
    forgetting: Forgetting

    @property
    def needs_cloud_model(self) -> bool:
        """Whether rounds need a cloud model."""
        return self.local.needs_teacher() or self.merge.trains_cloud_model

    def kind_in(self, slot: str) -> Kind:
        """Raises AttributeError where there is no such slot."""
        kind: Kind = getattr(self, slot)
        return kind

    def misfits(self, model: ModelSpec | None, resources: Resources | None) -> Iterator[Misfit]:
        """The kinds that do not fit, with reasons; see `Kind.misfit`."""
        for slot in SLOTS:
            if (reason := self.kind_in(slot).misfit(self, model, resources)) is not None:
                yield Misfit(slot, reason)

    @property
    def device(self) -> DevicePlan:
        """The device's part of the plan.

        Where devices help each other they also train locally between rounds, since drift is that of the personal model.
        """
        holds_rounds, helps = self.pace.holds_rounds(), self.help.rules() is not None
        between_s = 0.0 if helps else None
        return DevicePlan(
            local=self.local,
            codec=self.codec,
            privacy=self.privacy,
            requirements=self.requirements,
            help=self.help,
            local_training_every_s=between_s if holds_rounds else self.pace.rest_s(),
            spares_newest=holds_rounds and helps,
            personal=self.personal,
        )


def parse_plan(raw: object) -> Plan:
    """Parse a plan and check that its kinds work with one another; see `read_plan`.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``.
    """
    plan = read_plan(raw)
    for slot, reason in plan.misfits(None, None):
        raise WireError("plan.invalid", f"slot {slot}, kind {plan.kind_in(slot).name}: {reason.sentence}")
    return plan


def read_plan(raw: object) -> Plan:
    """Parse a plan from `raw`: a mapping of slots, each ``{"kind": name, **hyperparameters}``.

    A slot that is left out has sgd, int8, sync, uniform, star, fed_avg, whole, at_once or nothing; requirements have
    the defaults of their fields. Whether its kinds work with one another is not checked.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``.
    """
    check_names(raw, _Slots, of="plan")
    if isinstance(raw, Mapping):
        check_names(raw.get("requirements"), Requirements, of="requirements")
    try:
        slots = from_values(raw, _Slots)
    except msgspec.ValidationError as error:
        raise WireError("plan.invalid", f"plan: {error}") from error
    return Plan(
        local=LOCAL.parse(slots.local),
        codec=CODEC.parse(slots.codec),
        privacy=PRIVACY.parse(slots.privacy),
        requirements=slots.requirements,
        pace=PACE.parse(slots.pace),
        selection=SELECTION.parse(slots.selection),
        topology=TOPOLOGY.parse(slots.topology),
        merge=MERGE.parse(slots.merge),
        down=DOWN.parse(slots.down),
        personal=PERSONAL.parse(slots.personal),
        help=HELP.parse(slots.help),
        groups=GROUPS.parse(slots.groups),
        rollout=ROLLOUT.parse(slots.rollout),
        fallback=FALLBACK.parse(slots.fallback),
        forgetting=FORGETTING.parse(slots.forgetting),
    )


def stored_plan(document: object) -> Plan:
    """The plan of a stored `document`, as `parse_plan` reads it; cached, since it is needed often."""
    return _parse_cached(msgspec.json.encode(document))


def plan_document(plan: Plan) -> Document:
    """`plan` as JSON with every hyperparameter written out, so that later defaults do not change it."""
    return from_values(msgspec.to_builtins(plan), Document)


def plan_schema() -> Mapping[str, Document]:
    """JSON schema by slot and kind, for validation elsewhere and for forms; `requirements` has no kinds."""
    kinds: dict[str, Document] = {slot: dict(registry.schema()) for slot, registry in SLOTS.items()}
    return kinds | {"requirements": msgspec.json.schema(Requirements)}


def offered_kinds() -> Sequence[Offer]:
    """Every kind that an installed package provides; those without a refusal are loaded in this process."""
    refused = {(slot, name): reason for slot, registry in SLOTS.items() for name, reason in registry.refused.items()}
    return [offer._replace(refusal=refused.get((offer.slot, offer.name), offer.refusal)) for offer in offers()]


@lru_cache(maxsize=256)
def _parse_cached(document: bytes) -> Plan:
    return parse_plan(from_json(document, Document))


@cache
def presets() -> Mapping[str, Plan]:
    """The published systems: the plan files in `presets/`, by name."""
    return {path.stem: parse_plan(tomllib.loads(path.read_text())) for path in sorted(PRESETS.glob("*.toml"))}


@cache
def preset_notes() -> Mapping[str, Sequence[str]]:
    """The description in each preset's file, line by line: its paper, its purpose, and when it loses."""
    return {path.stem: leading_comment(path) for path in sorted(PRESETS.glob("*.toml"))}


def leading_comment(path: Path) -> Sequence[str]:
    """The lines of the comment that a TOML file begins with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), lines)]


class _Slots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    local: object = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    codec: object = msgspec.field(default_factory=lambda: {"kind": "int8"})
    privacy: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    requirements: Requirements = Requirements()
    pace: object = msgspec.field(default_factory=lambda: {"kind": "sync"})
    selection: object = msgspec.field(default_factory=lambda: {"kind": "uniform"})
    topology: object = msgspec.field(default_factory=lambda: {"kind": "star"})
    merge: object = msgspec.field(default_factory=lambda: {"kind": "fed_avg"})
    down: object = msgspec.field(default_factory=lambda: {"kind": "whole"})
    personal: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    help: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    groups: object = msgspec.field(default_factory=lambda: {"kind": "one"})
    rollout: object = msgspec.field(default_factory=lambda: {"kind": "at_once"})
    fallback: object = msgspec.field(default_factory=lambda: {"kind": "none"})
    forgetting: object = msgspec.field(default_factory=lambda: {"kind": "none"})
