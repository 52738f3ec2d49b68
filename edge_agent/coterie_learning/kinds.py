"""A plan has one kind in each slot; a kind is one module with one struct of hyperparameters and pure functions."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from inspect import get_annotations
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from coterie_learning.custom_kinds import Offer, offered, signed_off_offers
from coterie_learning.unknown_names import check_names, nearest
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Resources(NamedTuple):
    """What a federation has besides its plan and device model."""

    cloud_data: bool
    """Whether the platform has a data set that its models learn from."""
    teacher_problem: str | None
    """Why devices cannot run the pair's cloud model; None: they can."""
    one_model: bool = True
    """Whether all devices have models of the same structure."""


FIRST_RELEASE = "0.1"


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Hyperparameters of one algorithm; a subclass names itself with ``tag``, its module docstring cites the source."""

    since: ClassVar[str] = FIRST_RELEASE
    """The first release that has it."""
    half_of: ClassVar[str | None] = None
    """The algorithm of which `local` and `merge` each implement one half; the halves work only together."""

    @property
    def name(self) -> str:
        """The kind as a plan writes it, e.g. ``"int8"``."""
        return str(self.__struct_config__.tag)

    @property
    def slot(self) -> str:
        """Its slot: the package that defines the interface it implements."""
        ancestors = type(self).__mro__
        return ancestors[ancestors.index(Kind) - 1].__module__.rpartition(".")[2]

    def nested(self) -> "Iterator[Kind]":
        """The kinds among its hyperparameters, and among theirs."""
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if isinstance(value, Kind):
                yield value
                yield from value.nested()

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Why the kind cannot work with these; None: it can.

        `model` and `resources` are None while they are unknown, as for a plan without a federation: then the kind
        checks only the other kinds of `plan`.
        """
        return None


S = TypeVar("S", bound=msgspec.Struct)
K_co = TypeVar("K_co", bound=Kind, covariant=True)


class Registry(Generic[K_co]):
    """The kinds of one slot: subclasses of `base` defined in modules of `package` or in signed-off packages."""

    def __init__(self, slot: str, package: ModuleType, base: type[K_co]) -> None:
        self.slot = slot
        kinds = dict(discover(package, base))
        refused: dict[str, Reason] = {}
        for offer in signed_off_offers(slot):
            found = load(offer, base)
            if isinstance(found, Reason):
                refused[offer.name] = found
            else:
                kinds[offer.name] = found
        self.kinds: Mapping[str, type[K_co]] = kinds
        self.refused: Mapping[str, Reason] = refused
        """Kinds of packages that are signed off, and are nonetheless none."""

    def parse(self, raw: object) -> K_co:
        """Parse a kind from `raw`, ``{"kind": name, **hyperparameters}``.

        Raises WireError ``plan.unknown_kind`` or ``plan.invalid``.
        """
        name = raw.get("kind") if isinstance(raw, Mapping) else None
        if not isinstance(name, str) or name not in self.kinds:
            raise WireError("plan.unknown_kind", f"slot {self.slot} has no kind {name!r}{self._instead_of(name)}")
        check_names(raw, self.kinds[name], of=f"slot {self.slot}, kind {name}")
        try:
            return from_values(raw, self.kinds[name])
        except msgspec.ValidationError as error:
            raise WireError("plan.invalid", f"slot {self.slot}, kind {name}: {error}") from error

    def _instead_of(self, name: object) -> str:
        known = ", ".join(sorted(self.kinds))
        if not isinstance(name, str):
            return f"; it knows {known}"
        offer = offered(self.slot, name)
        if offer is None:
            return f", the nearest is {nearest(name, self.kinds)!r}; it knows {known}"
        refusal = self.refused.get(name, offer.refusal)
        why = "the process was started before it was signed off" if refusal is None else refusal.sentence
        return f" that is loaded: {offer.distribution} {offer.version} brings one, but {why}"

    def schema(self) -> Mapping[str, object]:
        """JSON schema of each kind by name, for validation elsewhere and for forms."""
        return {name: msgspec.json.schema(kind) for name, kind in sorted(self.kinds.items())}


def discover(package: ModuleType, base: type[S]) -> Mapping[str, type[S]]:
    """The subclasses of `base` that the modules of `package` define, by their tags."""
    found: dict[str, type[S]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):  # modules shared by several kinds
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__:
                found[str(value.__struct_config__.tag)] = value
    return found


def load(offer: Offer, base: type[S]) -> type[S] | Reason:
    """The kind that `offer` names, or why there is none: a broken package, or another slot or name."""
    module, _, attribute = offer.target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises, the other kinds are to work
        return Reason("kinds.cannot_load", f"{offer.target} cannot be loaded: {type(error).__name__}: {error}"[:400])
    if not (isinstance(found, type) and issubclass(found, base)):
        return Reason(
            "kinds.invalid", f"{offer.target} is no kind of slot {offer.slot}: derive it from {base.__name__}"
        )
    if found.__struct_config__.tag != offer.name:
        tag = found.__struct_config__.tag
        return Reason("kinds.invalid", f"{offer.target} has the tag {tag!r}, and its entry point says {offer.name!r}")
    unset = [name for name in _constants_of(base) if not hasattr(found, name)]
    if unset:
        sentence = f"{offer.target} does not set {', '.join(unset)}, as every {base.__name__} must"
        return Reason("kinds.invalid", sentence)
    return found


def _constants_of(base: type[msgspec.Struct]) -> Sequence[str]:
    """The class variables that `base` declares."""
    return [name for name in get_annotations(base) if name not in base.__struct_fields__]
