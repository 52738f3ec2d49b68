"""Fleet profiles: speed, connection, availability and dropout rate of devices.

A profile is a shipped one, a TOML file, or the trace of a fleet as written by `coterie twin FEDERATION --export`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.simulation.errors import MalformedFile, UnknownProfile
from coterie.simulation.scenario import Habits, Speed, read_toml
from coterie.twin.trace import Trace
from coterie_learning.unknown_names import nearest
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json, from_values

SHIPPED = Path(__file__).parent / "profiles"
TRACE = ".json"


class DeviceClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class of devices, relative to the profile's speed."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    share: Annotated[float, Meta(gt=0, le=1, description="of the fleet; shares add up to 1")]
    slowness: Annotated[float, Meta(gt=0, le=1000, description="times longer than the profile's speed to compute")] = (
        1.0
    )
    uplink_bytes_s: Annotated[float, Meta(gt=0, description="bytes a second from a device")] = 125_000.0
    downlink_bytes_s: Annotated[float, Meta(gt=0, description="bytes a second to a device")] = 625_000.0


class FleetProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fleet as in its file."""

    speed: Speed = Speed()
    habits: Habits = Habits()
    weekend: Habits | None = None
    """Of Saturday and Sunday; none: as on other days. Time begins on a Monday."""
    classes: Sequence[DeviceClass] = ()
    """None: all devices have the profile's speed."""
    lost_share: Annotated[float, Meta(ge=0, lt=1, description="of parts in rounds that never deliver")] = 0.0

    def __post_init__(self) -> None:
        total = sum(one.share for one in self.classes)
        if self.classes and abs(total - 1) > 1e-6:
            raise ValueError(f"the shares of its classes add up to {total:g}, not to 1")


USUAL = FleetProfile()


def shipped_profiles() -> Mapping[str, Path]:
    """Files by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def read_profile(name: str | None) -> FleetProfile | Trace:
    """A shipped profile by its name, or one in a file; None: devices as in scenarios, which may always train.

    Raises UnknownProfile or MalformedFile.
    """
    if name is None:
        return USUAL
    known = shipped_profiles()
    path = known.get(name, Path(name))
    if not path.is_file():
        raise UnknownProfile(name=name, nearest=nearest(str(name), known) or "none", known=", ".join(known))
    try:
        if path.suffix == TRACE:
            return from_json(path.read_bytes(), Trace)
        return from_values(read_toml(path), FleetProfile)
    except (msgspec.ValidationError, WireError, *UNREADABLE, OSError) as error:
        raise MalformedFile(path=name, detail=str(error)) from error
