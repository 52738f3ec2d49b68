"""Error messages for unknown names: the most similar known name, and all known names."""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

import msgspec

from coterie_wire.errors import WireError


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` that was probably meant: its short form, or the most similar; None where `known` is empty."""
    return max(sorted(known), key=lambda one: _likeness(name.lower(), one), default=None)


def check_names(raw: object, struct: type[msgspec.Struct], *, of: str) -> None:
    """Check that JSON for `struct` has no unknown fields; `of` names the part of a plan for the error.

    Raises WireError ``plan.invalid``.
    """
    known, tag = struct.__struct_encode_fields__, struct.__struct_config__.tag_field
    for name in raw if isinstance(raw, Mapping) else ():
        if name not in known and name != tag:
            meant = f", the nearest is {nearest(str(name), known)!r}" if known else ""
            raise WireError("plan.invalid", f"{of}: there is no {name!r}{meant}; it knows {', '.join(sorted(known))}")


def _likeness(name: str, known: str) -> float:
    words = known.split("_")
    if name == "".join(word[0] for word in words if word) or known.startswith(name):
        return 1.0 + len(name) / len(known)
    return SequenceMatcher(None, name, known).ratio()
