"""The device's part of a plan: the slots whose kinds run on the device, and the conditions that it must meet."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_learning import codec, help, local, personal, privacy
from coterie_learning.codec import Codec
from coterie_learning.consent import Scope
from coterie_learning.help import Help
from coterie_learning.kinds import Kind, Registry
from coterie_learning.local import Local
from coterie_learning.personal import Personal
from coterie_learning.privacy import Privacy
from coterie_wire.conditions import Requirements
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json, from_values

LOCAL = Registry("local", local, Local)
CODEC = Registry("codec", codec, Codec)
PRIVACY = Registry("privacy", privacy, Privacy)
HELP = Registry("help", help, Help)
PERSONAL = Registry("personal", personal, Personal)
NO_PERSONAL = PERSONAL.parse({"kind": "none"})
NO_HELP = "none"
"""The kind under which devices do not help each other."""


class DevicePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parsed settings by which a device trains, reports, and helps others."""

    local: Local
    codec: Codec
    privacy: Privacy
    requirements: Requirements
    help: Help
    local_training_every_s: float | None = msgspec.field(default=None, name="alone_every_s")
    """Least seconds between two trainings on new samples outside of rounds; None: it trains in rounds only."""
    spares_newest: bool = False
    """Whether training outside of rounds leaves the newest batch out until there is a newer one, so that the own model
    and each version that comes can be compared on samples that neither was trained on by the device."""
    personal: Personal = NO_PERSONAL

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Scopes that the owner has to agree to before the device does anything under this plan."""
        return scopes_of(self.privacy.name, self.help.name)

    @property
    def holds_between_rounds(self) -> bool:
        """Whether devices train or store anything outside of rounds."""
        trains = self.local_training_every_s is not None or self.personal.rules(self.local) is not None
        return trains or self.help.rules() is not None or self.local.trains_personal_model()


def scopes_of(privacy: str, help: str) -> tuple[Scope, ...]:
    """The scopes of a plan with kinds of these names.

    A privacy kind that this device lacks is ignored, as the device does not take part under it.
    """
    kind = PRIVACY.kinds.get(privacy)
    read: tuple[Scope, ...] = () if kind is None else (kind.readability,)
    return read if help == NO_HELP else (*read, "help")


def device_plan_json(plan: DevicePlan) -> bytes:
    """`plan` as sent to devices, as JSON.

    Fields with their default value are left out, so that a device which does not know a newer field can read the plan;
    defaults therefore never change. A device refuses any other value of a field that it does not know.
    """
    document = from_values(msgspec.to_builtins(plan), dict[str, object])
    for slot in ("local", "codec", "privacy", "requirements", "help", "personal"):
        if slot in document:  # a slot that 0.1 does not know is left out as a whole
            document[slot] = _without_defaults(getattr(plan, slot))
    return msgspec.json.encode(document)


def _without_defaults(struct: Kind | Requirements) -> dict[str, object]:
    named: dict[str, object] = {"kind": struct.name} if isinstance(struct, Kind) else {}
    fields = msgspec.structs.fields(struct)
    return named | {
        field.name: getattr(struct, field.name) for field in fields if getattr(struct, field.name) != field.default
    }


def parse_device_plan(raw: bytes | msgspec.Raw) -> DevicePlan:
    """Parse the device plan in the JSON `raw`: each kind as ``{"kind": name, **hyperparameters}``.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``.
    """
    try:
        slots = from_json(raw, _Slots)
    except UNREADABLE as error:
        raise WireError("plan.invalid", f"device plan: {error}") from error
    return DevicePlan(
        local=LOCAL.parse(slots.local),
        codec=CODEC.parse(slots.codec),
        privacy=PRIVACY.parse(slots.privacy),
        requirements=slots.requirements,
        help=HELP.parse(slots.help),
        local_training_every_s=slots.alone_every_s,
        spares_newest=slots.spares_newest,
        personal=PERSONAL.parse(slots.personal),
    )


class _Slots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    local: object
    codec: object
    privacy: object
    requirements: Requirements
    help: object
    alone_every_s: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    spares_newest: bool = False
    personal: object = msgspec.field(default_factory=lambda: {"kind": "none"})
