"""Which kinds this source has, found without loading them: an agent that does not train is spared NumPy's memory."""

import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

KindNames: TypeAlias = Mapping[str, tuple[str, ...]]
"""By slot, in order; as `coterie_wire.messages.Capabilities` has them."""
DEVICE_SLOTS = ("local", "codec", "privacy", "personal", "help")
"""The slots whose kinds run on the device. A kind has the name of its module."""
NESTED_SLOTS = ("drift",)
"""Packages of kinds that are hyperparameters of those."""
_HERE = Path(__file__).parent


def own_kinds() -> KindNames:
    """The kinds that this device has."""
    return {slot: _modules(_HERE / slot) for slot in (*DEVICE_SLOTS, *NESTED_SLOTS)}


def _modules(package: Path) -> tuple[str, ...]:
    return tuple(sorted(info.name for info in pkgutil.iter_modules([str(package)]) if not info.name.startswith("_")))
