"""What to say of a name that is not known: the nearest of those that are, and all of them."""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

import msgspec

from coterie_wire.errors import WireError


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that was probably meant: its short form, or the most alike; None where nothing is known."""
    return max(sorted(known), key=lambda one: _likeness(name.lower(), one), default=None)


def check_names(raw: object, struct: type[msgspec.Struct], *, of: str) -> None:
    """See that JSON which is to become `struct` names no other fields; `of` says in which part of a plan it stands.

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
