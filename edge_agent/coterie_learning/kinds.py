"""A plan has one kind in each slot; a kind is one module with one struct of hyperparameters and pure functions."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

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
    """The algorithm, as the field calls it, of which `local` and `merge` each have a half, which work only together."""

    @property
    def name(self) -> str:
        """The kind as a plan writes it, e.g. ``"int8"``."""
        return str(self.__struct_config__.tag)

    @property
    def slot(self) -> str:
        """The slot that it fits: the package of its module."""
        return type(self).__module__.split(".")[-2]

    def nested(self) -> "Iterator[Kind]":
        """The kinds among its hyperparameters, and among theirs."""
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if isinstance(value, Kind):
                yield value
                yield from value.nested()

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """What the kind cannot work with; None: it can.

        `model` and `resources` are None while they are not known, as for a plan without a federation: then the kind
        checks only the other kinds of `plan`.
        """
        return None


S = TypeVar("S", bound=msgspec.Struct)
K_co = TypeVar("K_co", bound=Kind, covariant=True)


class Registry(Generic[K_co]):
    """The kinds that fit one slot: every subclass of `base` that a module of `package` defines."""

    def __init__(self, slot: str, package: ModuleType, base: type[K_co]) -> None:
        self.slot = slot
        self.kinds: Mapping[str, type[K_co]] = discover(package, base)

    def parse(self, raw: object) -> K_co:
        """The kind that `raw`, ``{"kind": name, **hyperparameters}``, stands for.

        Raises WireError ``plan.unknown_kind`` or ``plan.invalid``.
        """
        name = raw.get("kind") if isinstance(raw, Mapping) else None
        if not isinstance(name, str) or name not in self.kinds:
            meant = f", the nearest is {nearest(name, self.kinds)!r}" if isinstance(name, str) else ""
            known = ", ".join(sorted(self.kinds))
            raise WireError("plan.unknown_kind", f"slot {self.slot} has no kind {name!r}{meant}; it knows {known}")
        check_names(raw, self.kinds[name], of=f"slot {self.slot}, kind {name}")
        try:
            return from_values(raw, self.kinds[name])
        except msgspec.ValidationError as error:
            raise WireError("plan.invalid", f"slot {self.slot}, kind {name}: {error}") from error

    def schema(self) -> Mapping[str, object]:
        """JSON schema of each kind by name, for validation elsewhere and for drawing forms."""
        return {name: msgspec.json.schema(kind) for name, kind in sorted(self.kinds.items())}


def discover(package: ModuleType, base: type[S]) -> Mapping[str, type[S]]:
    """The subclasses of `base` that the modules of `package` define, by their tags."""
    found: dict[str, type[S]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):  # what several kinds share
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__:
                found[str(value.__struct_config__.tag)] = value
    return found
